// SPDX-License-Identifier: Apache-2.0
// A CUDA device as a device of ours.
#pragma once

#include <span>

#include "core/device.h"
#include "cuda/context.h"

namespace mluop {

std::span<const CudaFamily* const> CudaFamilies();

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal);

  const char* name() const override { return name_; }
  const char* implementation() const override;

  bool Has(const Operator& op) const override;
  mluOpStatus_t Run(const Operator& op, const Arguments& arguments, mluOpContext& handle) override;
  size_t WorkspaceBytes(const OpSpec& getter, const Arguments& arguments,
                        WorkspaceSize on_cpu) const override;
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

  cnrtRet_t TimeReplays(Enqueue enqueue, void* context, int replays, double* us) override;
  cnrtRet_t TimeLaunch(double* us) override;

 private:
  // Asked once, when first needed.
  const CudaProperties& properties() const;

  int ordinal_;
  char name_[16];
};

}  // namespace mluop
