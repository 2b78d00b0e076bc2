// SPDX-License-Identifier: Apache-2.0
// Every operator and workspace getter of the C API, in every spelling.
#pragma once

#include <string>
#include <vector>

#include "testing/operator_test.h"

namespace mluop::fuzz {

struct EntryPoint {
  std::string name;  // of the table; with a suffix for a second spelling
  const OpSpec* spec = nullptr;
  // For an operator. `call` is the C function: test->call, or its other spelling.
  const testing::OperatorTest* test = nullptr;
  mluOpStatus_t (*call)(mluOpHandle_t handle, const Arguments& arguments) = nullptr;
  bool has_workspace = false;
  // For a getter.
  mluOpStatus_t (*get)(mluOpHandle_t handle, const Arguments& arguments, size_t* size) = nullptr;
};

std::vector<EntryPoint> AllEntryPoints();

}  // namespace mluop::fuzz
