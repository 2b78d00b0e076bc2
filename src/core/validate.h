// SPDX-License-Identifier: Apache-2.0
// The checks of every operator, in the order of the contract: handle, descriptors not NULL, ranks,
// types, layouts, attributes, shapes, strides, sizes, empty tensors, workspace, data pointers,
// overlap, alignment.
#pragma once

#include "core/arguments.h"
#include "mlu_op.h"

namespace mluop {

enum class Verdict { kRun, kNothingToDo, kFailed };

struct Validation {
  Verdict verdict;
  mluOpStatus_t status;
};

// Makes all checks. Fills arguments.symbols.
Validation Validate(Arguments& arguments);

// For workspace getters: makes the checks up to the empty tensors. `out` is the output pointer.
Validation ValidateGetter(Arguments& arguments, const size_t* out);

// For mluOpCheckOperator: makes the checks up to the sizes. An attribute may be 0 if it is the size
// of an empty input.
mluOpStatus_t ValidateBinding(Arguments& arguments);

}  // namespace mluop
