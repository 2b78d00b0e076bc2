// SPDX-License-Identifier: Apache-2.0
// Tests which lanes and copies wait for each other. The kernels are functions of this file.
#include "block.h"

#include <gtest/gtest.h>

#include <string>

namespace emulation {
namespace {

constexpr uint32_t kAllLanes = 0xffffffff;

std::string RunWarpOf(void (*call)(const void*, void**), void** parameters) {
  return Run({call, nullptr, parameters, /*blocks=*/1, kLanes, /*shared_bytes=*/0});
}

// Lane 0 waits; lane 31 waits if `parameters` are null; the others end.
void WaitForEndingLanes(const void*, void** parameters) {
  if (thread_index.x != 0 && (parameters != nullptr || thread_index.x != 31)) return;
  const Met& met = Meet("__syncwarp", kAllLanes, thread_index.x, Place::Here());
  if (met.lanes != (parameters != nullptr ? 1u : 0x80000001)) Fail("wrong lanes", Place::Here());
}

TEST(EmulatedBlock, LanesThatEndAreNoLongerAwaited) {
  void* alone = nullptr;
  EXPECT_EQ(RunWarpOf(WaitForEndingLanes, &alone), "");
  EXPECT_EQ(RunWarpOf(WaitForEndingLanes, nullptr), "");
}

void WaitAtBarrierOrIntrinsic(const void*, void**) {
  if (thread_index.x == 3) return;
  if (thread_index.x == 2) {
    Barrier(false, Place::Here());
  } else {
    Meet("__syncwarp", kAllLanes, 0, Place::Here());
  }
}

TEST(EmulatedBlock, DeadlockNamesTheMissingLane) {
  const std::string failure = RunWarpOf(WaitAtBarrierOrIntrinsic, nullptr);
  EXPECT_NE(failure.find("deadlock"), std::string::npos) << failure;
  EXPECT_NE(failure.find("thread 2 waits at the barrier"), std::string::npos) << failure;
}

// Commits an empty group before the copy, and never waits.
void CopyWithoutWait(const void*, void** parameters) {
  if (thread_index.x != 0) return;
  CommitCopies();
  StartCopy({parameters[0], parameters[1], sizeof(int), 0});
}

TEST(EmulatedBlock, CopiesEndWithTheirThread) {
  int from = 5, to = 0;
  void* parameters[] = {&to, &from};
  EXPECT_EQ(RunWarpOf(CopyWithoutWait, parameters), "");
  EXPECT_EQ(to, 5);
}

}  // namespace
}  // namespace emulation
