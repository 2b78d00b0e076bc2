// SPDX-License-Identifier: Apache-2.0
// The rules that `mluop report` breaks, one at a time.
#include "testing/broken_rules.h"

#include <algorithm>
#include <set>

#include "tests/validation/table_call.h"

namespace mluop::testing {
namespace {

class BrokenRules : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(All, BrokenRules, ::testing::ValuesIn(AllEntries()), EntryName);

TEST_P(BrokenRules, EachReturnsItsStatusAndNamesTheArgument) {
  for (const BrokenRule& rule : BrokenRulesOf(entry())) {
    TableCall call(entry());
    rule.apply(call);
    const Outcome outcome = call.Run();
    EXPECT_EQ(ErrorOf(rule, call, outcome), "") << rule.rule;
  }
}

TEST_P(BrokenRules, EachIsListedOnce) {
  std::set<std::string> seen;
  for (const BrokenRule& rule : BrokenRulesOf(entry())) {
    EXPECT_TRUE(seen.insert(rule.rule).second) << rule.rule;
  }
  EXPECT_GT(seen.size(), 4u * static_cast<size_t>(spec().tensor_count));
}

TEST_P(BrokenRules, OneIsASize) {
  const std::vector<BrokenRule> rules = BrokenRulesOf(entry());
  EXPECT_EQ(std::count_if(rules.begin(), rules.end(),
                          [](const BrokenRule& rule) { return rule.group == "size"; }),
            1);
}

TEST(BrokenRule, ErrorNamesAnUnexpectedStatusOrArgument) {
  const Entry entry = AllEntries().front();
  BrokenRule rule = BrokenRulesOf(entry).front();
  TableCall call(entry);
  rule.apply(call);
  const Outcome outcome = call.Run();
  rule.status = MLUOP_STATUS_NOT_SUPPORTED;
  EXPECT_EQ(ErrorOf(rule, call, outcome).find("status must be MLUOP_STATUS_NOT_SUPPORTED, got "),
            0u);
  rule.status = MLUOP_STATUS_BAD_PARAM;
  rule.arguments = {"another"};
  EXPECT_EQ(ErrorOf(rule, call, outcome).find("the message must name another, got "), 0u);
}

TEST(BrokenRule, ErrorReportsACallThatSucceeds) {
  const Entry entry = AllEntries().front();
  TableCall call(entry);
  EXPECT_NE(ErrorOf(BrokenRulesOf(entry).front(), call, call.Run()), "");
}

}  // namespace
}  // namespace mluop::testing
