// SPDX-License-Identifier: Apache-2.0
// Implements core/device.h for the simulated MLU.
#pragma once

#include <mutex>
#include <span>
#include <string>

#include "core/device.h"
#include "mlu/context.h"
#include "mlu/core.h"
#include "mlu/counters.h"

namespace mluop {

// Records the end of a launch in its queue: a failure, or NULL, and the counters.
void FinishLaunch(cnrtQueue_t queue, const bang::Violation* violation,
                  const bang::LaunchCounters& counters);

class MluDevice final : public Device {
 public:
  // `tables`: the tables of libmluops.so.
  explicit MluDevice(std::span<const OpSpec* const> tables) : tables_(tables) {}

  const char* name() const override { return "mlu:0"; }
  const char* architecture() const override { return GetMluProperties().architecture; }
  bool is_synchronous() const override { return true; }
  bool sets_queue_messages() const override { return true; }
  bool counts_only() const override { return true; }
  std::string CallCounters() const override;

  std::span<const std::string_view> Implementations(const OpSpec& op) const override;
  mluOpStatus_t Run(const Arguments& arguments, mluOpContext& handle) override;
  mluOpStatus_t MakePlan(const Arguments& arguments, mluOpContext& handle, Plan* plan) override;
  size_t WorkspaceBytes(const OpSpec& getter, const Arguments& arguments) const override;
  cnrtRet_t CreateState(std::unique_ptr<DeviceState>* state) override;

  cnrtRet_t Allocate(void** pointer, size_t bytes) override;
  cnrtRet_t Free(void* pointer) override;
  cnrtRet_t AllocateHost(void** pointer, size_t bytes) override;
  cnrtRet_t FreeHost(void* pointer) override;
  cnrtRet_t Copy(void* to, const void* from, size_t bytes, cnrtQueue_t queue) override;
  cnrtRet_t Fill(void* pointer, int value, size_t bytes, cnrtQueue_t queue) override;
  cnrtRet_t Synchronize() override;

  cnrtRet_t CreateQueue(cnrtQueue_t* queue) override;
  cnrtRet_t DestroyQueue(cnrtQueue_t queue) override;
  cnrtRet_t SynchronizeQueue(cnrtQueue_t queue) override;
  cnrtRet_t WrapStream(void* stream, cnrtQueue_t* queue) override;

  cnrtRet_t CreateNotifier(cnrtNotifier_t* notifier) override;
  cnrtRet_t DestroyNotifier(cnrtNotifier_t notifier) override;
  cnrtRet_t PlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) override;
  cnrtRet_t WaitNotifier(cnrtNotifier_t notifier) override;
  cnrtRet_t Duration(cnrtNotifier_t start, cnrtNotifier_t end, double* us) override;

 private:
  const DeviceIndex<MluContext>& Index() const;

  std::span<const OpSpec* const> tables_;
};

}  // namespace mluop
