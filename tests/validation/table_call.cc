// SPDX-License-Identifier: Apache-2.0
// Calls built from the operators' tables (table_call.h).
#include "tests/validation/table_call.h"

#include <algorithm>

namespace mluop::testing {

void ExpectRejected(TableCall& call, mluOpStatus_t status, const Names& arguments,
                    const std::string& value) {
  const Outcome outcome = call.Run();
  EXPECT_EQ(outcome.status, status) << outcome.message;
  EXPECT_TRUE(call.untouched());
  const std::string start = std::string(call.spec().name) + ": ";
  const size_t rule = outcome.message.find(" must ");
  const size_t got = outcome.message.rfind(", got ");
  ASSERT_TRUE(outcome.message.starts_with(start)) << outcome.message;
  ASSERT_TRUE(rule < got && got != std::string::npos) << outcome.message;
  const std::string argument = outcome.message.substr(start.size(), rule - start.size());
  EXPECT_NE(std::find(arguments.begin(), arguments.end(), argument), arguments.end())
      << "expected a message about " << arguments[0] << ", got: " << outcome.message;
  if (!value.empty()) {
    EXPECT_EQ(outcome.message.substr(got + 6), value) << outcome.message;
  }
}

void ExpectAccepted(TableCall& call, const Entry& entry) {
  const Outcome outcome = call.Run();
  EXPECT_EQ(outcome.status, MLUOP_STATUS_SUCCESS) << outcome.message;
  EXPECT_EQ(outcome.message, "");
  if (entry.op != nullptr) {
    EXPECT_TRUE(call.WroteOutputs());
  } else {
    EXPECT_NE(call.size, TableCall::kPoisonedSize);
  }
}

void ExpectNothingDone(TableCall& call, const Entry& entry) {
  const Outcome outcome = call.Run();
  EXPECT_EQ(outcome.status, MLUOP_STATUS_SUCCESS) << outcome.message;
  EXPECT_EQ(outcome.message, "");
  if (entry.op != nullptr) {
    EXPECT_TRUE(call.untouched());
  } else {
    EXPECT_EQ(call.size, 0u);
  }
}

}  // namespace mluop::testing
