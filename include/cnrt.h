/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that include <cnrt.h>: the runtime is in mluops/runtime.h. */
#ifndef CNRT_H_
#define CNRT_H_
#include "mluops/runtime.h"
#endif /* CNRT_H_ */
