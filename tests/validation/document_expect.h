// SPDX-License-Identifier: Apache-2.0
// What the calls of document_calls.h are expected to answer.
#pragma once

#include <initializer_list>
#include <string>

#include "tests/validation/document_calls.h"

namespace mluop::testing {

// Every check is passed. An operator that this device does not have yet says so.
inline void ExpectValid(mluOpStatus_t status) {
  if (status == MLUOP_STATUS_NOT_SUPPORTED) {
    EXPECT_TRUE(LastMessageHas(": device must be ")) << LastMessage();
  } else {
    EXPECT_EQ(status, MLUOP_STATUS_SUCCESS) << LastMessage();
  }
}

// BAD_PARAM, and the sentence is about `argument`.
inline void ExpectBad(mluOpStatus_t status, const std::string& argument) {
  EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM);
  const std::string message = LastMessage();
  EXPECT_EQ(message.compare(message.find(": ") + 2, argument.size(), argument), 0) << message;
}

// Runs each case on a fresh call: `change` breaks the argument named.
template <typename Call>
struct Broken {
  const char* argument;
  void (*change)(Call& call);
};
template <typename Call, size_t kCount>
void ExpectEachBad(const Broken<Call> (&cases)[kCount]) {
  for (const Broken<Call>& broken : cases) {
    SCOPED_TRACE(broken.argument);
    Call call;
    broken.change(call);
    ExpectBad(call.Call(), broken.argument);
  }
}
// Each of the arguments as NULL.
template <typename Call>
void ExpectEachNullBad(std::initializer_list<const char*> arguments) {
  for (const char* argument : arguments) {
    SCOPED_TRACE(argument);
    Call call;
    call.null.insert(argument);
    ExpectBad(call.Call(), argument);
  }
}

}  // namespace mluop::testing
