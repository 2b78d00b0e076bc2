// SPDX-License-Identifier: Apache-2.0
// What a runtime function makes of a device that fails: its code, and a sentence.
#include <gtest/gtest.h>

#include "core/device.h"
#include "tensors.h"

namespace mluop::testing {
namespace {

class FailingDevice final : public Device {
 public:
  explicit FailingDevice(cnrtRet_t error) : error_(error) {}
  const char* name() const override { return "failing"; }
  const char* implementation() const override { return "none"; }
  bool Has(const Operator&) const override { return false; }
  mluOpStatus_t Run(const Operator&, const Arguments&, mluOpContext&) override {
    return MLUOP_STATUS_EXECUTION_FAILED;
  }
  size_t WorkspaceBytes(const OpSpec&, const Arguments&, WorkspaceSize) const override { return 0; }
  cnrtRet_t CreateState(std::unique_ptr<DeviceState>*) override { return error_; }
  cnrtRet_t Allocate(void**, size_t) override { return error_; }
  cnrtRet_t Free(void*) override { return error_; }
  cnrtRet_t AllocateHost(void**, size_t) override { return error_; }
  cnrtRet_t FreeHost(void*) override { return error_; }
  cnrtRet_t Copy(void*, const void*, size_t, cnrtQueue_t) override { return error_; }
  cnrtRet_t Fill(void*, int, size_t, cnrtQueue_t) override { return error_; }
  cnrtRet_t Synchronize() override { return error_; }
  cnrtRet_t CreateQueue(cnrtQueue_t*) override { return error_; }
  cnrtRet_t DestroyQueue(cnrtQueue_t) override { return error_; }
  cnrtRet_t SynchronizeQueue(cnrtQueue_t) override { return error_; }
  cnrtRet_t WrapStream(void*, cnrtQueue_t*) override { return error_; }
  cnrtRet_t TimeReplays(Enqueue, void*, int, double*) override { return error_; }
  cnrtRet_t TimeLaunch(double*) override { return error_; }
  cnrtRet_t CreateNotifier(cnrtNotifier_t*) override { return error_; }
  cnrtRet_t DestroyNotifier(cnrtNotifier_t) override { return error_; }
  cnrtRet_t PlaceNotifier(cnrtNotifier_t, cnrtQueue_t) override { return error_; }
  cnrtRet_t WaitNotifier(cnrtNotifier_t) override { return error_; }
  cnrtRet_t Duration(cnrtNotifier_t, cnrtNotifier_t, double*) override { return error_; }

 private:
  cnrtRet_t error_;
};

class FailureOfADevice : public ::testing::TestWithParam<cnrtRet_t> {
 protected:
  // `function` must have handed the device's code on.
  void Expect(cnrtRet_t result, const std::string& function) const {
    EXPECT_EQ(result, GetParam()) << function;
    EXPECT_EQ(LastMessage(), function + ": " + cnrtGetErrorStr(GetParam()));
  }
  FailingDevice device_{GetParam()};
  cnrtQueue queue_{&device_};
  cnrtNotifier notifier_{&device_};
  char bytes_[2] = {};
};
INSTANTIATE_TEST_SUITE_P(All, FailureOfADevice,
                         ::testing::Values(cnrtErrorNoMem, cnrtErrorUnknown));

TEST_P(FailureOfADevice, OnAQueueLeavesASentence) {
  Expect(cnrtMemcpyAsync(bytes_, bytes_ + 1, 1, &queue_, cnrtMemcpyHostToDev), "cnrtMemcpyAsync");
  Expect(cnrtMemsetAsync(bytes_, 0, 1, &queue_), "cnrtMemsetAsync");
  Expect(cnrtQueueSync(&queue_), "cnrtQueueSync");
  Expect(cnrtQueueDestroy(&queue_), "cnrtQueueDestroy");
}

TEST_P(FailureOfADevice, OnANotifierLeavesASentence) {
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

TEST(UnknownRuntimeError, IsCalledThat) {
  EXPECT_STREQ(cnrtGetErrorStr(cnrtErrorUnknown), "cnrtErrorUnknown: unknown error");
}

}  // namespace
}  // namespace mluop::testing
