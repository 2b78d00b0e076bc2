// SPDX-License-Identifier: Apache-2.0
// The resources of a call on the CPU: threads and scratch.
#pragma once

#include "core/implementation.h"
#include "cpu/scratch.h"
#include "cpu/thread_pool.h"

namespace mluop {

class CpuContext {
 public:
  // `nested` is the scratch of operators that an implementation calls.
  CpuContext(int num_threads, const Workspace& workspace, Scratch& scratch, Scratch& nested)
      : threads_(num_threads), workspace_(workspace), scratch_(scratch), nested_(nested) {}

  // Returns the context of an operator that this call runs: it has other scratch and no workspace.
  CpuContext Nested() const { return {threads_.num_threads(), {}, nested_, nested_}; }

  ThreadPool& threads() { return threads_; }

  // Returns the bytes of `floats` floats per worker.
  size_t PerWorkerBytes(int64_t floats) const {
    return static_cast<size_t>(floats * threads_.num_threads()) * sizeof(float);
  }

  // Returns `bytes` of memory aligned to kAlignment: from the workspace if it has at least
  // WorkspaceFor(bytes), else from the handle. Use it once per call: a second call returns the same
  // memory. Throws std::bad_alloc.
  void* Scratch(size_t bytes);

 private:
  ThreadPool threads_;
  Workspace workspace_;
  mluop::Scratch& scratch_;
  mluop::Scratch& nested_;
};

// Returns the workspace size that CpuContext::Scratch(bytes) requires. It includes padding for
// alignment. A smaller workspace is never used, even if its pointer is aligned.
constexpr size_t WorkspaceFor(size_t bytes) { return bytes == 0 ? 0 : bytes + kAlignment; }

template <class Problem>
using CpuCall = Call<Problem, CpuContext>;
template <class Problem>
using CpuImplementation = Implementation<Problem, CpuContext>;
using CpuOperator = DeviceOperator<CpuContext>;
// Each family defines one, <folder>::kCpuFamily.
using CpuFamily = DeviceFamily<CpuContext>;

// Functions of an implementation: each constructs Object(call, scratch) and calls one member. The
// scratch is NULL for bytes() and Describe().
template <class Object, class Problem>
size_t ObjectBytes(const CpuCall<Problem>& call) {
  return Object(call, nullptr).bytes();
}
template <class Object, class Problem>
mluOpStatus_t RunObject(const CpuCall<Problem>& call, void* scratch) {
  Object(call, scratch).Run();
  return MLUOP_STATUS_SUCCESS;
}
template <class Object, class Problem>
void DescribeObject(const CpuCall<Problem>& call, Plan& plan) {
  Object(call, nullptr).Describe(plan);
}

// Returns the CpuFamily of every family; defined in src/ops/cpu_list.cc.
std::span<const CpuFamily* const> CpuFamilies();

}  // namespace mluop
