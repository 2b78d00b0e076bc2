// SPDX-License-Identifier: Apache-2.0
// Breaks every rule of an operator's table once. The driver reports the status and the error
// message of each such call; a test checks them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "testing/table_call.h"

namespace mluop::testing {

struct BrokenRule {
  std::string group;                   // "descriptor", "rank", "type", ... in the order of checks
  std::string rule;                    // in words
  mluOpStatus_t status;                // that the call must return
  std::vector<std::string> arguments;  // the message must name one of these
  std::function<void(TableCall&)> apply;  // breaks the rule of a valid call
};

// Returns the rules in the order in which a call checks them.
std::vector<BrokenRule> BrokenRulesOf(const Entry& entry);

// Returns "" if the outcome of the broken call is as the rule says, else an error message.
std::string ErrorOf(const BrokenRule& rule, const TableCall& call, const Outcome& outcome);

}  // namespace mluop::testing
