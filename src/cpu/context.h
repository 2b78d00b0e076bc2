// SPDX-License-Identifier: Apache-2.0
// What an implementation on the CPU needs beside its arguments: threads and scratch.
#pragma once

#include "core/implementation.h"
#include "cpu/scratch.h"
#include "cpu/thread_pool.h"

namespace mluop {

class CpuContext {
 public:
  CpuContext(int num_threads, const Workspace& workspace, Scratch& scratch)
      : threads_(num_threads), workspace_(workspace), scratch_(scratch) {}

  ThreadPool& threads() { return threads_; }

  // The scratch to ask for where every worker has `floats` floats of its own.
  size_t WorkersBytes(int64_t floats) const {
    return static_cast<size_t>(floats * threads_.num_threads()) * sizeof(float);
  }

  // `bytes` of memory aligned to kAlignment, from the caller's workspace where it has at least
  // WorkspaceFor(bytes), else from the handle. Once per call: a second call gives the same memory
  // again. Throws std::bad_alloc.
  void* Scratch(size_t bytes);

 private:
  ThreadPool threads_;
  Workspace workspace_;
  mluop::Scratch& scratch_;
};

// The workspace that CpuContext::Scratch(bytes) takes, whatever the alignment of its pointer. A
// smaller one is not used, even where its pointer happens to be aligned.
constexpr size_t WorkspaceFor(size_t bytes) { return bytes == 0 ? 0 : bytes + kAlignment; }

template <class Problem>
using CpuCall = Call<Problem, CpuContext>;
template <class Problem>
using CpuImplementation = Implementation<Problem, CpuContext>;
using CpuOperator = DeviceOperator<CpuContext>;
// A family defines one of these, <folder>::kCpuFamily.
using CpuFamily = DeviceFamily<CpuContext>;

// src/ops/cpu_list.cc lists them.
std::span<const CpuFamily* const> CpuFamilies();

}  // namespace mluop
