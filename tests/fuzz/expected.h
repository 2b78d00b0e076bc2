// SPDX-License-Identifier: Apache-2.0
// What the contract says that a call must answer: written from it and the operators' tables once more, apart from the
// library's own checks.
#pragma once

#include "core/arguments.h"
#include "tests/fuzz/entry_point.h"

namespace mluop::fuzz {

struct Expected {
  mluOpStatus_t status;
  bool runs;  // the outputs are computed; else they stay as they are
};

// All that descriptors and attributes tell. Where that is SUCCESS, arguments.symbols have their values.
Expected ExpectedFromShapes(mluOpHandle_t handle, Arguments& arguments);

// The whole call of an operator.
Expected ExpectedFromCall(const EntryPoint& entry, mluOpHandle_t handle, Arguments& arguments);

}  // namespace mluop::fuzz
