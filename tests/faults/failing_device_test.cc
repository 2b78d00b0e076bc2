// SPDX-License-Identifier: Apache-2.0
// A runtime function returns the error code of a failing device and sets an error message.
#include <gtest/gtest.h>

#include "tests/faults/failing_device.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

class FailingDeviceTest : public ::testing::TestWithParam<cnrtRet_t> {
 protected:
  // `function` must have returned the device's error code.
  void Expect(cnrtRet_t result, const std::string& function) const {
    EXPECT_EQ(result, GetParam()) << function;
    EXPECT_EQ(LastMessage(), function + ": " + cnrtGetErrorStr(GetParam()));
  }
  FailingDevice device_{GetParam()};
  cnrtQueue queue_{&device_};
  cnrtNotifier notifier_{&device_};
  char bytes_[2] = {};
};
INSTANTIATE_TEST_SUITE_P(All, FailingDeviceTest,
                         ::testing::Values(cnrtErrorNoMem, cnrtErrorUnknown),
                         [](const auto& row) { return cnrtGetErrorName(row.param); });

TEST_P(FailingDeviceTest, QueueFunctionsReturnItsError) {
  Expect(cnrtMemcpyAsync(bytes_, bytes_ + 1, 1, &queue_, cnrtMemcpyHostToDev), "cnrtMemcpyAsync");
  Expect(cnrtMemsetAsync(bytes_, 0, 1, &queue_), "cnrtMemsetAsync");
  Expect(cnrtQueueSync(&queue_), "cnrtQueueSync");
  Expect(cnrtQueueDestroy(&queue_), "cnrtQueueDestroy");
}

TEST_P(FailingDeviceTest, NotifierFunctionsReturnItsError) {
  Expect(cnrtPlaceNotifier(&notifier_, &queue_), "cnrtPlaceNotifier");
  EXPECT_FALSE(notifier_.placed);
  Expect(cnrtWaitNotifier(&notifier_), "cnrtWaitNotifier");
  notifier_.placed = true;
  float time = 7;
  Expect(cnrtNotifierDuration(&notifier_, &notifier_, &time), "cnrtNotifierDuration");
  Expect(cnrtNotifierElapsedTime(&notifier_, &notifier_, &time), "cnrtNotifierElapsedTime");
  EXPECT_EQ(time, 7);
  Expect(cnrtNotifierDestroy(&notifier_), "cnrtNotifierDestroy");
}

TEST(CnrtGetErrorStr, UnknownErrorHasAName) {
  EXPECT_STREQ(cnrtGetErrorStr(cnrtErrorUnknown), "cnrtErrorUnknown: unknown error");
}

}  // namespace
}  // namespace mluop::testing
