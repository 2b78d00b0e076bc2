// SPDX-License-Identifier: Apache-2.0
// Whether the outputs of a call are those of the reference.
#pragma once

#include <string>

#include "core/arguments.h"
#include "testing/operator_test.h"

namespace mluop::fuzz {

// "" where every output of a call that ran is what the reference says, else a sentence. `tame`: the inputs are numbers of
// a small range, so that a sample's rounding is small beside its value, and the choice between near ties is judged.
//
// Bits are compared where the operator is exact. Rounded values pass by the criterion of `mluop check`; where the few
// elements of a small tensor, or contents that cancel, fail it, every element must lie within the rounding of a sum
// in any order, which is known from the same sum over absolute values.
std::string Disagreement(const testing::OperatorTest& test, const Arguments& arguments, bool tame);

}  // namespace mluop::fuzz
