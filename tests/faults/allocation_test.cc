// SPDX-License-Identifier: Apache-2.0
// Each allocation of the library fails in turn. The call returns ALLOC_FAILED with a message,
// nothing leaks, and the next call with the same handle is right.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "cpu/thread_pool.h"
#include "mluops/extensions.h"
#include "mluops/runtime.h"
#include "tests/support/examples.h"
#include "tests/support/small_cases.h"
#include "tests/support/tensors.h"

namespace {

std::atomic<int64_t> live_blocks{0};
// The allocation that fails, counted down on the calling thread; negative: none fails.
thread_local int64_t until_failure = -1;

void* Allocate(size_t size, size_t alignment) noexcept {
  if (until_failure >= 0 && until_failure-- == 0) return nullptr;
  const size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* pointer = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (pointer != nullptr) ++live_blocks;
  return pointer;
}

void* AllocateOrThrow(size_t size, size_t alignment) {
  if (void* pointer = Allocate(size, alignment)) return pointer;
  throw std::bad_alloc();
}

void Free(void* pointer) noexcept {
  if (pointer != nullptr) --live_blocks;
  std::free(pointer);
}

constexpr size_t kDefault = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
size_t ToSize(std::align_val_t alignment) { return static_cast<size_t>(alignment); }

}  // namespace

void* operator new(size_t n) { return AllocateOrThrow(n, kDefault); }
void* operator new[](size_t n) { return AllocateOrThrow(n, kDefault); }
void* operator new(size_t n, std::align_val_t a) { return AllocateOrThrow(n, ToSize(a)); }
void* operator new[](size_t n, std::align_val_t a) { return AllocateOrThrow(n, ToSize(a)); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return Allocate(n, kDefault); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return Allocate(n, kDefault); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Allocate(n, ToSize(a));
}
void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Allocate(n, ToSize(a));
}
void operator delete(void* p) noexcept { Free(p); }
void operator delete[](void* p) noexcept { Free(p); }
void operator delete(void* p, size_t) noexcept { Free(p); }
void operator delete[](void* p, size_t) noexcept { Free(p); }
void operator delete(void* p, std::align_val_t) noexcept { Free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { Free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { Free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { Free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { Free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { Free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { Free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { Free(p); }

namespace mluop::testing {
namespace {

constexpr int kMaxAllocations = 1000;

// Calls `action` with its allocation number `k` failing. True if there was such an allocation.
template <typename Result, typename Action>
bool FailsAt(int k, Action action, Result* result) {
  until_failure = k;
  *result = action();
  return std::exchange(until_failure, -1) < 0;
}

// Fails each allocation of `action` in turn: it must return `failure` with a message about
// `function` and keep no memory. `undo` releases the result of a successful call. Returns the
// number of allocations.
template <typename Result, typename Action, typename Undo>
int FailEachAllocation(const std::string& function, Result failure, Action action, Undo undo) {
  for (int k = 0; k < kMaxAllocations; ++k) {
    const int64_t before = live_blocks;
    Result result{};
    const bool failed = FailsAt(k, action, &result);
    if (!failed) {
      EXPECT_EQ(result, Result{});
      undo();
      EXPECT_EQ(live_blocks, before);
      return k;
    }
    EXPECT_EQ(live_blocks, before) << "after the failure of allocation " << k;
    EXPECT_EQ(result, failure);
    const std::string message = mluOpGetLastErrorMessage();
    EXPECT_EQ(message.find(function + ": "), 0u) << message;
  }
  return kMaxAllocations;
}

TEST(FailedAllocation, MluOpCreateReturnsAllocFailed) {
  mluOpHandle_t handle = nullptr;
  EXPECT_EQ(FailEachAllocation(
                "mluOpCreate", MLUOP_STATUS_ALLOC_FAILED, [&] { return mluOpCreate(&handle); },
                [&] { mluOpDestroy(handle); }),
            2);  // the handle and the state of the CPU
}

TEST(FailedAllocation, MluOpCreateKeepsTheHandlePointer) {
  mluOpHandle_t handle = nullptr;
  mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
  EXPECT_TRUE(FailsAt(
      0, [&] { return mluOpCreate(&handle); }, &status));
  EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED);
  EXPECT_EQ(handle, nullptr);
}

TEST(FailedAllocation, MluOpCreateTensorDescriptorReturnsAllocFailed) {
  mluOpTensorDescriptor_t desc = nullptr;
  EXPECT_EQ(FailEachAllocation(
                "mluOpCreateTensorDescriptor", MLUOP_STATUS_ALLOC_FAILED,
                [&] { return mluOpCreateTensorDescriptor(&desc); },
                [&] { mluOpDestroyTensorDescriptor(desc); }),
            1);
}

TEST(FailedAllocation, MluOpCreateGroupTensorDescriptorsCreatesNone) {
  mluOpTensorDescriptor_t descs[3] = {};
  mluOpTensorDescriptor_t* group[3] = {&descs[0], &descs[1], &descs[2]};
  EXPECT_EQ(FailEachAllocation(
                "mluOpCreateGroupTensorDescriptors", MLUOP_STATUS_ALLOC_FAILED,
                [&] { return mluOpCreateGroupTensorDescriptors(group, 3); },
                [&] { mluOpDestroyGroupTensorDescriptors(group, 3); }),
            3);
}

TEST(FailedAllocation, CnrtMallocAndCnrtHostMallocReturnNoMem) {
  void* pointer = nullptr;
  EXPECT_EQ(FailEachAllocation(
                "cnrtMalloc", cnrtErrorNoMem, [&] { return cnrtMalloc(&pointer, 100); },
                [&] { cnrtFree(pointer); }),
            1);
  EXPECT_EQ(FailEachAllocation(
                "cnrtHostMalloc", cnrtErrorNoMem, [&] { return cnrtHostMalloc(&pointer, 0); },
                [&] { cnrtHostFree(pointer); }),
            1);
}

TEST(FailedAllocation, CnrtQueueCreateAndCnrtNotifierCreateReturnNoMem) {
  cnrtQueue_t queue = nullptr;
  EXPECT_EQ(FailEachAllocation(
                "cnrtQueueCreate", cnrtErrorNoMem, [&] { return cnrtQueueCreate(&queue); },
                [&] { cnrtQueueDestroy(queue); }),
            1);
  cnrtNotifier_t notifier = nullptr;
  EXPECT_EQ(FailEachAllocation(
                "cnrtNotifierCreate", cnrtErrorNoMem, [&] { return cnrtNotifierCreate(&notifier); },
                [&] { cnrtNotifierDestroy(notifier); }),
            1);
}

// The checks of a call and its message do not allocate.
TEST(FailedAllocation, BadParamDoesNotAllocate) {
  const Handle handle;
  mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
  const auto rejected = [&] {
    return RunExample(handle, 0, nullptr, nullptr, 1, 1, nullptr, nullptr);
  };
  EXPECT_FALSE(FailsAt(0, rejected, &status));
  EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM);
}

// Runs a task on each of four threads once. Each thread keeps some memory afterwards.
void StartThreads() {
  static const bool started = [] {
    ThreadPool pool(4);
    std::atomic<int> inside{0};
    pool.For(4, 1, [&](int64_t, int64_t, int) {
      ++inside;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      while (inside < 4 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    return inside == 4;
  }();
  EXPECT_TRUE(started);
}

// Returns the expected outputs. Starts the threads, so that later calls allocate no thread memory.
std::vector<char> RunBaseline(PreparedCall* call) {
  StartThreads();
  const Handle handle;
  for (const int threads : {4, 1}) {
    mluOpSetNumThreads(handle, threads);
    call->PoisonOutputs();
    EXPECT_EQ(call->Run(handle), MLUOP_STATUS_SUCCESS) << LastMessage();
  }
  return OutputsOf(*call);
}

// For each allocation of the case: runs it on a fresh handle with that allocation failing, then
// again on the same handle without failure.
int FailEachAllocationOfCase(const Case& test_case, int threads) {
  PreparedCall call(test_case, Placement::kBack);
  const std::vector<char> expected = RunBaseline(&call);
  for (int k = 0; k < kMaxAllocations; ++k) {
    const int64_t before = live_blocks;
    bool failed = false;
    {
      const Handle handle;
      mluOpSetNumThreads(handle, threads);
      call.PoisonOutputs();
      mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
      failed = FailsAt(
          k, [&] { return call.Run(handle); }, &status);
      // If a worker cannot be allocated, the loop runs with fewer workers.
      const bool fewer_workers = failed && threads > 1 && status == MLUOP_STATUS_SUCCESS;
      if (!fewer_workers) {
        EXPECT_EQ(status, failed ? MLUOP_STATUS_ALLOC_FAILED : MLUOP_STATUS_SUCCESS);
      }
      if (failed && !fewer_workers) {
        const std::string start = std::string(test_case.op->spec.name) + ": ";
        EXPECT_EQ(LastMessage().find(start), 0u) << LastMessage();
        call.PoisonOutputs();
        EXPECT_EQ(call.Run(handle), MLUOP_STATUS_SUCCESS);
      }
      EXPECT_TRUE(OutputsOf(call) == expected) << "after the failure of allocation " << k;
    }
    EXPECT_EQ(live_blocks, before) << "after the failure of allocation " << k;
    if (!failed) return k;
  }
  return kMaxAllocations;
}

constexpr double kMaxBytes = 4e6;
constexpr size_t kCasesPerOperator = 6;

class FailedAllocationInOperator : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, FailedAllocationInOperator, ::testing::Values(1, 4),
                         ::testing::PrintToStringParamName());

TEST_P(FailedAllocationInOperator, ReturnsAllocFailedAndTheHandleStaysUsable) {
  int allocations = 0;
  for (const std::string& line : SmallCases(kCasesPerOperator, kMaxBytes)) {
    SCOPED_TRACE(line);
    allocations += FailEachAllocationOfCase(ParseCase(line), GetParam());
  }
  EXPECT_GT(allocations, 0);
}

TEST(FailedAllocation, FirstParallelLoopOfTheProcessRunsWithFewerWorkers) {
  const Case parsed = ParseCase(kParallelLine);
  PreparedCall call(parsed, Placement::kBack);
  const Handle handle;
  mluOpSetNumThreads(handle, 1);
  EXPECT_EQ(call.Run(handle), MLUOP_STATUS_SUCCESS) << LastMessage();
  const std::vector<char> expected = OutputsOf(call);
  mluOpSetNumThreads(handle, 4);
  call.PoisonOutputs();
  mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
  EXPECT_TRUE(FailsAt(
      0, [&] { return call.Run(handle); }, &status));
  EXPECT_EQ(status, MLUOP_STATUS_SUCCESS) << LastMessage();
  EXPECT_TRUE(OutputsOf(call) == expected);
}

}  // namespace
}  // namespace mluop::testing
