// SPDX-License-Identifier: Apache-2.0
// The log of operator calls on stderr, MLUOP_VERBOSE=1. A log is a valid case file of the driver:
// each call is a case line, and all other lines are comments.
#pragma once

#include "core/arguments.h"
#include "core/handle.h"

namespace mluop {

// Runs a validated call. Prints the case line before the kernel starts, so that a crash leaves it,
// and the status and time after it. `workspace_size` is the caller's.
mluOpStatus_t RunLogged(const Arguments& arguments, mluOpContext& handle, size_t workspace_size);

// Prints the case line of a call that returns SUCCESS without work, with the empty tensor's name.
void LogEmptyCall(const Arguments& arguments, const mluOpContext& handle, const TensorSpec& empty);

}  // namespace mluop
