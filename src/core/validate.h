// SPDX-License-Identifier: Apache-2.0
// The checks of every operator, in the one order of the contract: after the handle: descriptors not NULL,
// ranks, types, layouts, attributes, shapes, strides, sizes, empty tensors, workspace, data
// pointers, overlap.
#pragma once

#include "core/arguments.h"
#include "mlu_op.h"

namespace mluop {

enum class Verdict { kRun, kNothingToDo, kFailed };

struct Validation {
  Verdict verdict;
  mluOpStatus_t status;
};

// All checks. Fills arguments.symbols.
Validation Validate(Arguments& arguments);

// For workspace getters: the checks up to the empty tensors. `out` is the caller's out-pointer.
Validation ValidateGetter(Arguments& arguments, const size_t* out);

}  // namespace mluop
