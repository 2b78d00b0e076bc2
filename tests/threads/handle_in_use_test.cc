// SPDX-License-Identifier: Apache-2.0
// One thread at a time may use a handle: a concurrent call returns BAD_PARAM and does nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/handle.h"
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

// Every function that takes a handle, apart from mluOpDestroy, which ends its use, and the workspace
// getters of the families: the getter by name stands for them.
TEST_F(HandleInUse, EveryFunctionReturnsBadParam) {
  mluOpOperator_t op = nullptr;
  ASSERT_EQ(mluOpFindOperator(kExampleOperator, &op), MLUOP_STATUS_SUCCESS);
  const Arguments& arguments = short_call_.arguments();
  const OpSpec& spec = *arguments.spec;
  double attributes[kMaxAttributes] = {};
  mluOpTensorDescriptor_t descs[kMaxTensors] = {};
  void* data[kMaxTensors] = {};
  for (int i = 0; i < spec.attribute_count; ++i) attributes[i] = arguments.attributes[i].number;
  for (int i = 0; i < spec.tensor_count; ++i) {
    descs[i] = const_cast<mluOpTensorStruct*>(arguments.tensors[i].desc);
    data[i] = arguments.tensors[i].data;
  }
  int number = 0;
  size_t size = 0;
  cnrtQueue_t queue = nullptr;
  mluOpAtomicsMode_t atomics;
  mluOpQuantizeRoundMode_t rounding;
  const struct {
    std::string function;  // in the message
    std::function<mluOpStatus_t()> call;
  } rows[] = {
      {"mluOpUpdateContextInformation", [&] { return mluOpUpdateContextInformation(handle_); }},
      {"mluOpSetQueue", [&] { return mluOpSetQueue(handle_, nullptr); }},
      {"mluOpGetQueue", [&] { return mluOpGetQueue(handle_, &queue); }},
      {"mluOpSetAtomicsMode",
       [&] { return mluOpSetAtomicsMode(handle_, MLUOP_ATOMICS_NOT_ALLOWED); }},
      {"mluOpGetAtomicsMode", [&] { return mluOpGetAtomicsMode(handle_, &atomics); }},
      {"mluOpSetQuantizeRoundMode",
       [&] { return mluOpSetQuantizeRoundMode(handle_, MLUOP_ROUND_HALF_TO_EVEN); }},
      {"mluOpGetQuantizeRoundMode", [&] { return mluOpGetQuantizeRoundMode(handle_, &rounding); }},
      {"mluOpSetNumThreads", [&] { return mluOpSetNumThreads(handle_, 1); }},
      {"mluOpGetNumThreads", [&] { return mluOpGetNumThreads(handle_, &number); }},
      {"mluOpSetDoubleAllowed", [&] { return mluOpSetDoubleAllowed(handle_, 0); }},
      {"mluOpGetDoubleAllowed", [&] { return mluOpGetDoubleAllowed(handle_, &number); }},
      {kExampleOperator,
       [&] { return mluOpRunOperator(handle_, op, attributes, descs, data, nullptr, 0); }},
      {kExampleOperator, [&] { return mluOpCheckOperator(handle_, op, attributes, descs); }},
      {kExampleOperator,
       [&] { return mluOpGetOperatorWorkspaceSize(handle_, op, attributes, descs, &size); }},
  };
  for (const auto& row : rows) {
    const HandleGuard running(*handle_.get(), "a running call");
    EXPECT_EQ(row.call(), MLUOP_STATUS_BAD_PARAM) << row.function;
    EXPECT_EQ(LastMessage(), HandleInUseMessage(row.function));
  }
  for (const std::string& line : SmallCases(1, 1e5)) {
    const Case small = ParseCase(line);
    PreparedCall call(small, Placement::kFront);
    const HandleGuard running(*handle_.get(), "a running call");
    EXPECT_EQ(call.Run(handle_), MLUOP_STATUS_BAD_PARAM) << line;
    EXPECT_EQ(LastMessage(), HandleInUseMessage(std::string(small.op->spec.name)));
  }
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
