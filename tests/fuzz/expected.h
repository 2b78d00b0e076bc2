// SPDX-License-Identifier: Apache-2.0
// The status that the contract requires of a call, computed from the operators' tables independently of the library's
// checks.
#pragma once

#include "core/arguments.h"
#include "tests/fuzz/entry_point.h"

namespace mluop::fuzz {

struct Expected {
  mluOpStatus_t status;
  bool runs;  // the outputs are computed; else they stay unchanged
};

// The checks of descriptors and attributes. On SUCCESS, arguments.symbols have their values.
Expected ExpectedFromShapes(mluOpHandle_t handle, Arguments& arguments);

// All checks of an operator.
Expected ExpectedFromCall(const EntryPoint& entry, mluOpHandle_t handle, Arguments& arguments);

}  // namespace mluop::fuzz
