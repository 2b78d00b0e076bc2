// SPDX-License-Identifier: Apache-2.0
// Runs the checks of core/checks.h in the order of the contract (include/mlu_op.h).
#pragma once

#include "core/arguments.h"
#include "mlu_op.h"

namespace mluop {

// Runs all checks. Fills arguments.symbols. Sets *skip if an empty tensor makes the call a no-op.
mluOpStatus_t Validate(Arguments& arguments, bool* skip);

// For workspace getters: runs the checks up to the empty tensors. `out` is the output pointer.
mluOpStatus_t ValidateGetter(Arguments& arguments, const size_t* out, bool* skip);

// For mluOpCheckOperator: runs the checks up to CheckSizes. An attribute may be 0 if it is the size
// of an empty input.
mluOpStatus_t ValidateBinding(Arguments& arguments);

}  // namespace mluop
