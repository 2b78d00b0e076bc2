// SPDX-License-Identifier: Apache-2.0
// Every rule of an operator's table, broken once: the driver reports the status and the message of
// each, and a test requires them.
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

// Returns "" if the outcome of the broken call is as the rule says, else what is wrong with it.
std::string ErrorOf(const BrokenRule& rule, const TableCall& call, const Outcome& outcome);

}  // namespace mluop::testing
