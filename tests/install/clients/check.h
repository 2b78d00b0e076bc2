/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of the clients that call every function. */
#ifndef CHECK_H_
#define CHECK_H_

#include "mlu_op.h"

#define EXPECT(fact)                                             \
  do {                                                           \
    if (!(fact)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #fact); \
      exit(EXIT_FAILURE);                                        \
    }                                                            \
  } while (0)
#define MLUOP_CHECK(call) EXPECT((call) == MLUOP_STATUS_SUCCESS)

#endif
