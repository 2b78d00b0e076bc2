// SPDX-License-Identifier: Apache-2.0
// Runs an action in a separate process: the library reads the environment once, and a fork must not
// hang. The test program runs itself with the name of the action.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mluop::testing {

inline constexpr std::string_view kChildFlag = "--child";

struct ChildResult {
  int status;  // exit status, or minus the signal that killed it
  std::string output;
  std::string errors;
};

// Runs an action of child.cc. Removes the variables that the library reads from the environment,
// then adds `variables` ("NAME=value").
ChildResult RunChild(const std::string& action, const std::vector<std::string>& variables);

// Runs the action in the child, and returns the exit status.
int RunAction(std::string_view name);

}  // namespace mluop::testing
