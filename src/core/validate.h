// SPDX-License-Identifier: Apache-2.0
// Runs the checks of core/checks.h in the order of the contract (include/mlu_op.h).
#pragma once

#include "core/arguments.h"
#include "mlu_op.h"

namespace mluop {

enum class Verdict { kRun, kNothingToDo, kFailed };

struct Validation {
  Verdict verdict;
  mluOpStatus_t status;
};

// Runs all checks. Fills arguments.symbols.
Validation Validate(Arguments& arguments);

// For workspace getters: runs the checks up to the empty tensors. `out` is the output pointer.
Validation ValidateGetter(Arguments& arguments, const size_t* out);

// For mluOpCheckOperator: runs the checks up to CheckSizes. An attribute may be 0 if it is the size
// of an empty input.
mluOpStatus_t ValidateBinding(Arguments& arguments);

}  // namespace mluop
