// SPDX-License-Identifier: Apache-2.0
// Implements core/device.h for one CUDA device.
#pragma once

#include <span>

#include "core/device.h"
#include "cuda/context.h"

namespace mluop {

class CudaDevice final : public Device {
 public:
  // `tables`: the tables of libmluops.so.
  CudaDevice(int ordinal, std::span<const OpSpec* const> tables);

  const char* name() const override { return name_; }
  const char* architecture() const override;
  bool is_synchronous() const override { return false; }
  std::string CallCounters() const override;

  std::span<const ImplementationInfo> Implementations(const OpSpec& op) const override;
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
  bool IsCapturing(cnrtQueue_t queue) override;
  cnrtRet_t WrapStream(void* stream, cnrtQueue_t* queue) override;

  cnrtRet_t CreateNotifier(cnrtNotifier_t* notifier) override;
  cnrtRet_t DestroyNotifier(cnrtNotifier_t notifier) override;
  cnrtRet_t PlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) override;
  cnrtRet_t WaitNotifier(cnrtNotifier_t notifier) override;
  cnrtRet_t Duration(cnrtNotifier_t start, cnrtNotifier_t end, double* us) override;

 private:
  const DeviceIndex<CudaContext>& Index() const;
  // Queries the driver once, on first use.
  const CudaProperties& properties() const;
  // Calls body(operator, context) with this device as the current one.
  template <class Body>
  mluOpStatus_t WithOperator(const Arguments& arguments, mluOpContext& handle, const Body& body);

  int ordinal_;
  std::span<const OpSpec* const> tables_;
  char name_[16];
};

}  // namespace mluop
