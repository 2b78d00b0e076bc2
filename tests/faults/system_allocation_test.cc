// SPDX-License-Identifier: Apache-2.0
// Each allocation of a call on the calling thread fails in turn: malloc, its variants, and mmap,
// including calls from the C library. The call returns ALLOC_FAILED, or SUCCESS if it does not need
// the memory. The next call with the same handle is right.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "mluops/extensions.h"
#include "tests/support/examples.h"
#include "tests/support/forked.h"
#include "tests/support/small_cases.h"
#include "tests/support/tensors.h"

namespace {

// The allocation that fails, counted down; negative: none fails.
thread_local int64_t until_failure = -1;

bool Fails() {
  const bool fails = until_failure >= 0 && until_failure-- == 0;
  if (fails) errno = ENOMEM;
  return fails;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) { return Fails() ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return Fails() ? nullptr : __libc_calloc(count, size); }
void* realloc(void* pointer, size_t size) {
  return Fails() ? nullptr : __libc_realloc(pointer, size);
}
void* memalign(size_t alignment, size_t size) {
  return Fails() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** pointer, size_t alignment, size_t size) {
  void* const got = memalign(alignment, size);
  if (got == nullptr) return ENOMEM;
  *pointer = got;
  return 0;
}
void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  if (Fails()) return MAP_FAILED;
  const long result = syscall(SYS_mmap, address, size, protection, flags, file, offset);
  return reinterpret_cast<void*>(result);  // -1: MAP_FAILED NOLINT(performance-no-int-to-ptr)
}
}

namespace mluop::testing {
namespace {

constexpr int kMaxAllocations = 2000;

// The exit status of a child.
enum ChildStatus { kCorrect, kNoSuchAllocation, kWrongStatus, kWrongMessage, kWrongAfterwards };

struct Fault {
  int allocation;  // that fails
  int threads;
};

// Runs the case on a new handle with that allocation failing, and again.
ChildStatus RunWithFault(PreparedCall& call, const std::vector<char>& expected,
                         const Fault& fault) {
  mluOpHandle_t handle = nullptr;
  if (mluOpCreate(&handle) != MLUOP_STATUS_SUCCESS) return kWrongStatus;
  mluOpSetNumThreads(handle, fault.threads);
  call.PoisonOutputs();
  until_failure = fault.allocation;
  mluOpStatus_t status = call.Run(handle);
  const bool failed = std::exchange(until_failure, -1) < 0;
  if (status == MLUOP_STATUS_ALLOC_FAILED) {
    const std::string name(call.test_case().op->spec.name);
    if (LastMessage() != name + ": out of memory") return kWrongMessage;
    call.PoisonOutputs();
    status = call.Run(handle);
  }
  if (status != MLUOP_STATUS_SUCCESS) return kWrongStatus;
  if (OutputsOf(call) != expected) return kWrongAfterwards;
  call.PoisonOutputs();
  if (call.Run(handle) != MLUOP_STATUS_SUCCESS) return kWrongAfterwards;
  if (OutputsOf(call) != expected) return kWrongAfterwards;
  if (mluOpDestroy(handle) != MLUOP_STATUS_SUCCESS) return kWrongAfterwards;
  return failed ? kCorrect : kNoSuchAllocation;
}

// Returns the outputs that one thread computes. Starts no worker.
std::vector<char> RunSingleThreaded(PreparedCall* call) {
  const Handle handle(1);
  call->PoisonOutputs();
  EXPECT_EQ(call->Run(handle), MLUOP_STATUS_SUCCESS) << LastMessage();
  return OutputsOf(*call);
}

TEST(FailedSystemAllocation, FirstParallelLoopRecovers) {
  const Case parsed = ParseCase(kParallelLine);
  PreparedCall call(parsed, Placement::kBack);
  const std::vector<char> expected = RunSingleThreaded(&call);
  int allocation = 0, answer = kCorrect;
  for (; answer == kCorrect && allocation < kMaxAllocations; ++allocation) {
    answer = InForkedChild([&] { return RunWithFault(call, expected, {allocation, 4}); });
  }
  EXPECT_EQ(answer, kNoSuchAllocation) << "allocation " << allocation - 1;
  EXPECT_GT(allocation, 3);  // three workers
}

TEST(FailedSystemAllocation, EveryOperatorIsRightAfterwards) {
  for (const std::string& line : SmallCases(4, 2e6)) {
    SCOPED_TRACE(line);
    const Case parsed = ParseCase(line);
    PreparedCall call(parsed, Placement::kBack);
    const std::vector<char> expected = RunSingleThreaded(&call);
    for (const int threads : {1, 4}) {
      EXPECT_EQ(InForkedChild([&] {
                  for (int k = 0; k < kMaxAllocations; ++k) {
                    const ChildStatus answer = RunWithFault(call, expected, {k, threads});
                    if (answer != kCorrect) return static_cast<int>(answer);
                  }
                  return static_cast<int>(kCorrect);
                }),
                kNoSuchAllocation)
          << threads << " threads";
    }
  }
}

// mluOpCreate reads the machine's CPUs and limits from files, which allocates.
TEST(FailedSystemAllocation, MluOpCreateReturnsAHandleOrAllocFailed) {
  for (int k = 0; k < kMaxAllocations; ++k) {
    mluOpHandle_t handle = nullptr;
    until_failure = k;
    const mluOpStatus_t status = mluOpCreate(&handle);
    const bool failed = std::exchange(until_failure, -1) < 0;
    EXPECT_EQ(status == MLUOP_STATUS_SUCCESS, handle != nullptr);
    if (status == MLUOP_STATUS_SUCCESS) {
      int threads = 0;
      EXPECT_EQ(mluOpGetNumThreads(handle, &threads), MLUOP_STATUS_SUCCESS);
      EXPECT_GE(threads, 1);
      EXPECT_EQ(mluOpDestroy(handle), MLUOP_STATUS_SUCCESS);
    } else {
      EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED);
      EXPECT_TRUE(LastMessage() == "mluOpCreate: out of memory" ||
                  LastMessage() == "mluOpCreate: cpu: cnrtErrorNoMem: out of memory")
          << LastMessage();
    }
    if (!failed) return;
  }
  FAIL() << "more than 2000 allocations";
}

}  // namespace
}  // namespace mluop::testing
