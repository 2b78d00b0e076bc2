// SPDX-License-Identifier: Apache-2.0
// A device whose functions all fail.
#pragma once

#include <memory>

#include "core/device.h"

namespace mluop::testing {

class FailingDevice final : public Device {
 public:
  explicit FailingDevice(cnrtRet_t error, const char* name = "failing")
      : error_(error), name_(name) {}
  const char* name() const override { return name_; }
  const char* architecture() const override { return "none"; }
  bool is_synchronous() const override { return true; }
  std::span<const ImplementationInfo> Implementations(const OpSpec&) const override {
    return kImplementations;
  }
  mluOpStatus_t Run(const Arguments&, mluOpContext&) override {
    return MLUOP_STATUS_EXECUTION_FAILED;
  }
  mluOpStatus_t MakePlan(const Arguments&, mluOpContext&, Plan*) override {
    return MLUOP_STATUS_EXECUTION_FAILED;
  }
  size_t WorkspaceBytes(const OpSpec&, const Arguments&) const override { return 0; }
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
  cnrtRet_t CreateNotifier(cnrtNotifier_t*) override { return error_; }
  cnrtRet_t DestroyNotifier(cnrtNotifier_t) override { return error_; }
  cnrtRet_t PlaceNotifier(cnrtNotifier_t, cnrtQueue_t) override { return error_; }
  cnrtRet_t WaitNotifier(cnrtNotifier_t) override { return error_; }
  cnrtRet_t Duration(cnrtNotifier_t, cnrtNotifier_t, double*) override { return error_; }

 private:
  static constexpr ImplementationInfo kImplementations[] = {{"failing"}};
  cnrtRet_t error_;
  const char* name_;
};

}  // namespace mluop::testing
