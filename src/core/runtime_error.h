// SPDX-License-Identifier: Apache-2.0
// Failures of the runtime functions: the same sentence per thread, with a cnrtRet_t.
#pragma once

#include "mlu_op.h"
#include "mluops/runtime.h"

namespace mluop {

// The status that stands for what a device answered.
mluOpStatus_t StatusOf(cnrtRet_t error);

[[gnu::format(printf, 2, 3)]] cnrtRet_t FailRuntime(cnrtRet_t error, const char* format, ...);
cnrtRet_t FailNullRuntime(const char* function, const char* argument);

}  // namespace mluop
