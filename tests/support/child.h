// SPDX-License-Identifier: Apache-2.0
// Some facts can only be seen in a process of their own: the environment is read once, and a fork
// must not hang. Such a test runs this program again with the name of an action.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mluop::testing {

inline constexpr std::string_view kChildFlag = "--child";

struct ChildResult {
  int status;  // exit status, or minus the signal that ended it
  std::string output;
  std::string errors;
};

// Runs an action of child.cc with these variables ("NAME=value") added to the environment, from
// which all variables of ours are removed first.
ChildResult RunChild(const std::string& action, const std::vector<std::string>& variables);

// What the child's main() does; the exit status.
int RunAction(std::string_view name);

}  // namespace mluop::testing
