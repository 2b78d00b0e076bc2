// SPDX-License-Identifier: Apache-2.0
// The one sentence that a failure leaves for the thread. Nothing here allocates.
#pragma once

#include "mlu_op.h"

namespace mluop {

// A std::string_view as printf takes it: "%.*s", MLUOP_SV(name).
#define MLUOP_SV(view) static_cast<int>((view).size()), (view).data()

// Keeps the sentence for LastErrorMessage() and returns `status`, so that a check reads
//   if (bad) return Fail(MLUOP_STATUS_BAD_PARAM, "psamask_forward: x must be ..., got ...");
[[gnu::format(printf, 2, 3)]] mluOpStatus_t Fail(mluOpStatus_t status, const char* format, ...);

// BAD_PARAM: "<function>: <argument> must be a pointer, got NULL".
mluOpStatus_t FailNull(const char* function, const char* argument);

// "" when nothing has failed on this thread.
const char* LastErrorMessage();

// Turns the exception being handled into a status: the boundary of every C function that can throw.
mluOpStatus_t FailFromException(const char* operation);

}  // namespace mluop
