// SPDX-License-Identifier: Apache-2.0
// The state of a handle.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "core/device.h"
#include "core/environment.h"
#include "mlu_op.h"

struct mluOpContext {
  explicit mluOpContext(mluop::Device* handle_device)
      : device(handle_device), num_threads(mluop::DefaultNumThreads()) {}

  mluop::Device* device;
  cnrtQueue_t queue = nullptr;
  mluOpAtomicsMode_t atomics_mode = MLUOP_ATOMICS_NOT_ALLOWED;
  mluOpQuantizeRoundMode_t round_mode = MLUOP_ROUND_HALF_TO_EVEN;
  int num_threads;
  bool double_allowed = false;
  std::unique_ptr<mluop::DeviceState> state;
  // Forces an implementation by name, for tests and the driver; empty: the first that applies.
  std::string_view implementation;
  std::atomic<bool> in_use{false};
};

namespace mluop {

// Reserves a handle for one call. One thread at a time may use a handle: if another thread is using
// it, ok() is false and the error message is set.
class HandleUse {
 public:
  HandleUse(mluOpContext& handle, std::string_view function);
  ~HandleUse() {
    if (ok_) handle_.in_use.store(false, std::memory_order_release);
  }
  HandleUse(const HandleUse&) = delete;
  HandleUse& operator=(const HandleUse&) = delete;

  bool ok() const { return ok_; }

 private:
  mluOpContext& handle_;
  bool ok_;
};

}  // namespace mluop
