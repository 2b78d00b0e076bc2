// SPDX-License-Identifier: Apache-2.0
// What the inputs of a call hold.
#pragma once

#include "core/arguments.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/entry_point.h"

namespace mluop::fuzz {

// Fills the inputs, all of which have memory for what their descriptors say: as the operator's own cases are filled
// where the shapes are `valid`, with numbers of a small range, or with any bits; then strewn with what a number or an
// index should not be. Returns whether the values are tame: all of a small range.
bool FillInputs(const EntryPoint& entry, const Arguments& arguments, bool valid, Bytes& bytes);

}  // namespace mluop::fuzz
