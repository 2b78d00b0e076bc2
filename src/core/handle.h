// SPDX-License-Identifier: Apache-2.0
// What a handle holds.
#pragma once

#include <memory>

#include "core/device.h"
#include "core/environment.h"
#include "cpu/scratch.h"
#include "cpu/thread_pool.h"
#include "mlu_op.h"

struct mluOpContext {
  explicit mluOpContext(mluop::Device* handle_device)
      : device(handle_device), threads(mluop::DefaultNumThreads()) {}

  mluop::Device* device;
  cnrtQueue_t queue = nullptr;
  mluOpAtomicsMode_t atomics_mode = MLUOP_ATOMICS_NOT_ALLOWED;
  mluOpQuantizeRoundMode_t round_mode = MLUOP_ROUND_HALF_TO_EVEN;
  mluop::ThreadPool threads;
  mluop::Scratch scratch;  // of the CPU
  std::unique_ptr<mluop::DeviceState> state;
};
