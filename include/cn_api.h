/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that include <cn_api.h>: the runtime is in mluops/runtime.h. */
#ifndef CN_API_H_
#define CN_API_H_
#include "mluops/runtime.h"
#endif /* CN_API_H_ */
