/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that include <cnrt.h>: the runtime is in mluops/runtime.h. */
#ifndef MLUOPS_COMPAT_CNRT_H_
#define MLUOPS_COMPAT_CNRT_H_
#include "mluops/runtime.h"
#endif /* MLUOPS_COMPAT_CNRT_H_ */
