// SPDX-License-Identifier: Apache-2.0
// Expectations about calls that are built from the operators' tables.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/table_call.h"
#include "tests/support/entries.h"
#include "tests/support/tensors.h"

namespace mluop::testing {

using Names = std::vector<std::string>;

// The call must return `status` and write no byte. Its message must be "<op>: <argument> must
// <rule>, got <value>", with one of `arguments`, and with `value` unless that is empty.
void ExpectRejected(TableCall& call, mluOpStatus_t status, const Names& arguments,
                    const std::string& value = "");

// The call must return SUCCESS and write all outputs, or a getter its size.
void ExpectAccepted(TableCall& call, const Entry& entry);

// The call must return SUCCESS without writing a byte; a getter must write 0.
void ExpectNothingDone(TableCall& call, const Entry& entry);

class EntryTest : public ::testing::TestWithParam<Entry> {
 protected:
  const Entry& entry() const { return GetParam(); }
  const OpSpec& spec() const { return *GetParam().spec; }
  // Runs `test(call, tensor)` on a fresh call for each tensor of the table.
  template <typename Test>
  void ForEachTensor(Test test) {
    for (int t = 0; t < spec().tensor_count; ++t) {
      SCOPED_TRACE(spec().tensors[t].name);
      TableCall call(entry());
      test(call, t);
    }
  }
};

}  // namespace mluop::testing
