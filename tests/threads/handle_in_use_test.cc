// SPDX-License-Identifier: Apache-2.0
// One thread at a time may use a handle: a concurrent call returns BAD_PARAM and does nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "mluops/extensions.h"
#include "testing/prepared_call.h"
#include "tests/support/examples.h"
#include "tests/support/small_cases.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

constexpr int kMaxRounds = 100;

std::string HandleInUseMessage(const std::string& function) {
  return function +
         ": handle must be used by one thread at a time, got a call while another is running";
}

struct Counts {
  int succeeded = 0;
  int rejected = 0;
  int wrong = 0;

  // Every call must succeed, or be rejected with the message of `function`.
  void Add(mluOpStatus_t status, const std::string& function) {
    const bool is_rejected =
        status == MLUOP_STATUS_BAD_PARAM && LastMessage() == HandleInUseMessage(function);
    succeeded += status == MLUOP_STATUS_SUCCESS;
    rejected += is_rejected;
    wrong += status != MLUOP_STATUS_SUCCESS && !is_rejected;
  }
};

class HandleInUse : public OperatorFixture {
 protected:
  HandleInUse()
      : long_case_(ParseCase(kLongLine)),
        long_call_(long_case_, Placement::kBack),
        short_case_(ParseCase(kExampleLine)),
        short_call_(short_case_, Placement::kFront) {
    for (PreparedCall* call : {&long_call_, &short_call_}) {
      call->PoisonOutputs();
      EXPECT_EQ(call->Run(handle_), MLUOP_STATUS_SUCCESS) << LastMessage();
    }
    long_outputs_ = OutputsOf(long_call_);
    short_outputs_ = OutputsOf(short_call_);
  }

  // Runs the long call in a second thread, and `poll` in this one until the long call has ended.
  // A poll may use the handle when the long call starts. The long call is then rejected and
  // repeated.
  Counts PollDuringLongCall(const std::function<void(Counts*)>& poll) {
    Counts polls, long_calls;
    std::atomic<bool> started{false}, ended{false};
    long_call_.PoisonOutputs();
    std::thread worker([&] {
      while (long_calls.succeeded + long_calls.wrong == 0) {
        started = true;
        long_calls.Add(long_call_.Run(handle_), kLongOperator);
      }
      ended = true;
    });
    while (!started) std::this_thread::yield();
    while (!ended) poll(&polls);
    worker.join();
    EXPECT_EQ(long_calls.wrong, 0);
    EXPECT_TRUE(OutputsOf(long_call_) == long_outputs_);
    return polls;
  }

  // Polls during long calls until a poll was rejected. On a busy machine one long call may end
  // before this thread runs.
  void ExpectRejected(const std::function<void(Counts*)>& poll) {
    int rejected = 0, wrong = 0;
    for (int round = 0; round < kMaxRounds && rejected == 0; ++round) {
      const Counts counts = PollDuringLongCall(poll);
      rejected += counts.rejected;
      wrong += counts.wrong;
    }
    EXPECT_GT(rejected, 0);
    EXPECT_EQ(wrong, 0);
  }

  const Case long_case_;
  PreparedCall long_call_;
  const Case short_case_;
  PreparedCall short_call_;
  std::vector<char> long_outputs_, short_outputs_;
};

TEST_F(HandleInUse, OperatorReturnsBadParamAndRunningCallSucceeds) {
  int mistakes = 0;
  const std::vector<char> poison(short_outputs_.size(), static_cast<char>(0xff));
  ExpectRejected([&](Counts* counts) {
    short_call_.PoisonOutputs();
    const mluOpStatus_t status = short_call_.Run(handle_);
    counts->Add(status, kExampleOperator);
    mistakes +=
        OutputsOf(short_call_) != (status == MLUOP_STATUS_SUCCESS ? short_outputs_ : poison);
  });
  EXPECT_EQ(mistakes, 0);
  EXPECT_EQ(short_call_.Run(handle_), MLUOP_STATUS_SUCCESS) << LastMessage();
}

TEST_F(HandleInUse, HandleFunctionReturnsBadParamAndKeepsItsResult) {
  int mistakes = 0, threads = 0;
  ASSERT_EQ(mluOpGetNumThreads(handle_, &threads), MLUOP_STATUS_SUCCESS);
  ExpectRejected([&](Counts* counts) {
    int got = -7;
    const mluOpStatus_t status = mluOpGetNumThreads(handle_, &got);
    counts->Add(status, "mluOpGetNumThreads");
    mistakes += got != (status == MLUOP_STATUS_SUCCESS ? threads : -7);
  });
  EXPECT_EQ(mistakes, 0);
}

TEST_F(HandleInUse, OtherHandleSucceeds) {
  const Handle other;
  const Counts counts = PollDuringLongCall(
      [&](Counts* polls) { polls->Add(short_call_.Run(other), kExampleOperator); });
  EXPECT_EQ(counts.rejected, 0);
  EXPECT_EQ(counts.wrong, 0);
}

}  // namespace
}  // namespace mluop::testing
