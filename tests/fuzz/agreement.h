// SPDX-License-Identifier: Apache-2.0
// Compares the outputs of a call with the reference.
#pragma once

#include <string>

#include "core/arguments.h"
#include "testing/operator_test.h"

namespace mluop::fuzz {

// Returns "" if every output of a call agrees with the reference, else a message. `small_range`:
// the inputs have a small range, so the rounding of a sample is small, and the argmax of near ties
// is compared too.
//
// Exact operators are compared bit by bit. Rounded values must pass the criterion of `mluop check`. If a small tensor or
// cancelling contents fail it, every element must lie within the rounding of a sum in any order. That bound is the same
// sum over absolute values.
std::string Disagreement(const testing::OperatorTest& test, const Arguments& arguments,
                         bool small_range);

}  // namespace mluop::fuzz
