// SPDX-License-Identifier: Apache-2.0
// Fills the inputs of a call.
#pragma once

#include "core/arguments.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/entry_point.h"

namespace mluop::fuzz {

// Fills the inputs. The memory must have the size given by the descriptors. Uses the operator's own
// generator (if the shapes are `valid`), numbers of a small range, or random bits; then inserts
// special numbers and wrong indices. Returns whether all values have a small range.
bool FillInputs(const EntryPoint& entry, const Arguments& arguments, bool valid, Bytes& bytes);

}  // namespace mluop::fuzz
