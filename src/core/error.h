// SPDX-License-Identifier: Apache-2.0
// Failures: a status for the caller and an error message for the thread. Nothing here allocates.
#pragma once

#include "mlu_op.h"
#include "mluops/runtime.h"

namespace mluop {

// A std::string_view as printf takes it: "%.*s", MLUOP_SV(name).
#define MLUOP_SV(view) static_cast<int>((view).size()), (view).data()

// Stores the thread's error message and returns `status`, so that a check reads
//   if (bad) return Fail(MLUOP_STATUS_BAD_PARAM, "my_operator: x must be ..., got ...");
[[gnu::format(printf, 2, 3)]] mluOpStatus_t Fail(mluOpStatus_t status, const char* format, ...);
[[gnu::format(printf, 2, 3)]] cnrtRet_t Fail(cnrtRet_t error, const char* format, ...);

// "<function>: <argument> must be a pointer, got NULL", as BAD_PARAM or cnrtErrorArgsInvalid.
mluOpStatus_t FailNull(const char* function, const char* argument);
cnrtRet_t FailNullRuntime(const char* function, const char* argument);

// Turns the exception being handled into a status: the boundary of every C function that can throw.
mluOpStatus_t FailFromException(const char* operation);

// The status that corresponds to a device's answer.
mluOpStatus_t StatusOf(cnrtRet_t error);

// Stores an error message for the calling thread. libmluops.so defines it to keep the message; a
// device library, which has this code too, sets it to the function of the library that loaded it.
using StoreMessage = void (*)(mluOpStatus_t status, const char* message);
extern StoreMessage store_message;

// "" where nothing has failed on this thread.
const char* LastErrorMessage();

}  // namespace mluop
