// SPDX-License-Identifier: Apache-2.0
// Failures: a status for the caller and an error message for the thread. No function allocates.
#pragma once

#include <string_view>

#include "core/text.h"
#include "mlu_op.h"
#include "mluops/runtime.h"

namespace mluop {

// Sets the thread's error message and returns `status`. A check reads:
//   if (bad) return Fail(MLUOP_STATUS_BAD_PARAM, "my_operator: x must be ..., got ...");
[[gnu::format(printf, 2, 3)]] mluOpStatus_t Fail(mluOpStatus_t status, const char* format, ...);
[[gnu::format(printf, 2, 3)]] cnrtRet_t Fail(cnrtRet_t error, const char* format, ...);

// Fail with "<function>: <argument> must be a pointer, got NULL", as BAD_PARAM or
// cnrtErrorArgsInvalid.
mluOpStatus_t FailNull(const char* function, const char* argument);
cnrtRet_t FailNullRuntime(const char* function, const char* argument);

// Converts the exception being handled to a status. Every C function whose code can throw calls it.
mluOpStatus_t FailFromException(const char* operation);

// Converts the result of a device to a status.
mluOpStatus_t StatusOf(cnrtRet_t error);

// Stores an error message for the calling thread. libmluops.so stores it in a thread-local buffer.
// A device library, which contains this code too, calls the function of libmluops.so.
using StoreMessage = void (*)(mluOpStatus_t status, const char* message);
extern StoreMessage store_message;

}  // namespace mluop
