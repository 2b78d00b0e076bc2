// SPDX-License-Identifier: Apache-2.0
// The runtime functions on the CPU device.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "mluops/runtime.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

void ExpectInvalid(cnrtRet_t result, const std::string& start) {
  EXPECT_EQ(result, cnrtErrorArgsInvalid);
  EXPECT_EQ(LastMessage().find(start), 0u) << LastMessage();
}

TEST(CnrtMalloc, MemoryIsAlignedTo64Bytes) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{5} << 20}) {
    void* pointer = nullptr;
    ASSERT_EQ(cnrtMalloc(&pointer, bytes), cnrtSuccess);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pointer) % 64, 0u);
    std::memset(pointer, 1, bytes);
    EXPECT_EQ(cnrtFree(pointer), cnrtSuccess);
  }
}

TEST(CnrtMalloc, ZeroBytesReturnAPointerToFree) {
  int unused = 0;
  void* pointer = &unused;
  ASSERT_EQ(cnrtMalloc(&pointer, 0), cnrtSuccess);
  EXPECT_NE(pointer, &unused);
  EXPECT_EQ(cnrtFree(pointer), cnrtSuccess);
  ASSERT_EQ(cnrtHostMalloc(&pointer, 0), cnrtSuccess);
  EXPECT_EQ(cnrtHostFree(pointer), cnrtSuccess);
}

TEST(CnrtFree, NullSucceeds) {
  EXPECT_EQ(cnrtFree(nullptr), cnrtSuccess);
  EXPECT_EQ(cnrtFreeHost(nullptr), cnrtSuccess);
}

TEST(CnrtHostMalloc, BothSpellingsOfFreeSucceed) {
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(cnrtHostMalloc(&first, 100), cnrtSuccess);
  ASSERT_EQ(cnrtHostMalloc(&second, 100), cnrtSuccess);
  std::memset(first, 1, 100);
  EXPECT_EQ(cnrtFreeHost(first), cnrtSuccess);
  EXPECT_EQ(cnrtHostFree(second), cnrtSuccess);
}

// Rounding a size near SIZE_MAX up to the alignment overflows.
TEST(CnrtMalloc, TooLargeReturnsNoMemAndKeepsPointer) {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 62, SIZE_MAX - 63, SIZE_MAX / 2}) {
    int unused = 0;
    void* pointer = &unused;
    EXPECT_EQ(cnrtMalloc(&pointer, bytes), cnrtErrorNoMem) << bytes;
    EXPECT_EQ(pointer, &unused);
    EXPECT_EQ(LastMessage().find("cnrtMalloc: "), 0u) << LastMessage();
    EXPECT_EQ(cnrtHostMalloc(&pointer, bytes), cnrtErrorNoMem) << bytes;
    EXPECT_EQ(LastMessage().find("cnrtHostMalloc: "), 0u) << LastMessage();
  }
}

TEST(CnrtMalloc, NullOutPointerReturnsArgsInvalid) {
  ExpectInvalid(cnrtMalloc(nullptr, 1), "cnrtMalloc: ptr");
  ExpectInvalid(cnrtHostMalloc(nullptr, 1), "cnrtHostMalloc: ptr");
}

TEST(CnrtMemcpy, CopiesInEveryDirection) {
  for (const cnrtMemTransDir_t direction :
       {cnrtMemcpyHostToDev, cnrtMemcpyDevToDev, cnrtMemcpyDevToHost, cnrtMemcpyHostToHost,
        cnrtMemcpyPeerToPeer, cnrtMemcpyNoDirection}) {
    char from[] = "abc";
    char to[] = "xyz";
    char later[] = "xyz";
    EXPECT_EQ(cnrtMemcpy(to, from, 2, direction), cnrtSuccess);
    EXPECT_STREQ(to, "abz");
    EXPECT_EQ(cnrtMemcpyAsync(later, from, 2, nullptr, direction), cnrtSuccess);
    EXPECT_EQ(cnrtQueueSync(nullptr), cnrtSuccess);
    EXPECT_STREQ(later, "abz");
  }
}

TEST(CnrtMemcpy, OldDirectionNamesHaveTheSameValues) {
  EXPECT_EQ(CNRT_MEM_TRANS_DIR_HOST2DEV, cnrtMemcpyHostToDev);
  EXPECT_EQ(CNRT_MEM_TRANS_DIR_DEV2DEV, cnrtMemcpyDevToDev);
  EXPECT_EQ(CNRT_MEM_TRANS_DIR_DEV2HOST, cnrtMemcpyDevToHost);
  EXPECT_EQ(CNRT_MEM_TRANS_DIR_HOST2HOST, cnrtMemcpyHostToHost);
  EXPECT_EQ(CNRT_MEM_TRANS_DIR_PEER2PEER, cnrtMemcpyPeerToPeer);
  EXPECT_EQ(CNRT_MEM_TRANS_DIR_NODIR, cnrtMemcpyNoDirection);
  EXPECT_EQ(CNRT_RET_SUCCESS, cnrtSuccess);
}

TEST(CnrtMemcpy, UnknownDirectionReturnsArgsInvalid) {
  char bytes[2] = {1, 2};
  for (const int wrong : {-1, 6}) {
    const auto direction = static_cast<cnrtMemTransDir_t>(wrong);
    ExpectInvalid(cnrtMemcpy(bytes, bytes + 1, 1, direction), "cnrtMemcpy: dir");
    ExpectInvalid(cnrtMemcpyAsync(bytes, bytes + 1, 1, nullptr, direction), "cnrtMemcpyAsync: dir");
  }
  EXPECT_EQ(bytes[0], 1);
}

TEST(CnrtMemcpy, NullReturnsArgsInvalidUnlessSizeIsZero) {
  char byte = 0;
  ExpectInvalid(cnrtMemcpy(nullptr, &byte, 1, cnrtMemcpyHostToDev), "cnrtMemcpy: dst");
  ExpectInvalid(cnrtMemcpy(&byte, nullptr, 1, cnrtMemcpyHostToDev), "cnrtMemcpy: src");
  EXPECT_EQ(cnrtMemcpy(nullptr, nullptr, 0, cnrtMemcpyHostToDev), cnrtSuccess);
}

TEST(CnrtMemset, WritesBytes) {
  unsigned char bytes[4] = {1, 1, 1, 1};
  EXPECT_EQ(cnrtMemset(bytes, 0x1ff, 2), cnrtSuccess);
  EXPECT_EQ(cnrtMemsetAsync(bytes + 3, 7, 1, nullptr), cnrtSuccess);
  EXPECT_EQ(bytes[1], 0xff);
  EXPECT_EQ(bytes[2], 1);
  EXPECT_EQ(bytes[3], 7);
}

TEST(CnrtMemset, NullReturnsArgsInvalidUnlessSizeIsZero) {
  ExpectInvalid(cnrtMemset(nullptr, 0, 1), "cnrtMemset: ptr");
  ExpectInvalid(cnrtMemsetAsync(nullptr, 0, 1, nullptr), "cnrtMemsetAsync: ptr");
  EXPECT_EQ(cnrtMemset(nullptr, 0, 0), cnrtSuccess);
}

TEST(CnrtQueue, RunsCopiesAndFills) {
  cnrtQueue_t queue = nullptr;
  ASSERT_EQ(cnrtQueueCreate(&queue), cnrtSuccess);
  char from[] = "abc";
  char to[] = "xyz";
  EXPECT_EQ(cnrtMemcpyAsync(to, from, 3, queue, cnrtMemcpyHostToDev), cnrtSuccess);
  EXPECT_EQ(cnrtMemsetAsync(to, '-', 1, queue), cnrtSuccess);
  EXPECT_EQ(cnrtQueueSync(queue), cnrtSuccess);
  EXPECT_STREQ(to, "-bc");
  EXPECT_EQ(cnrtQueueDestroy(queue), cnrtSuccess);
}

TEST(CnrtQueue, NullIsInvalidForCreateAndDestroyAndTheDefaultForSync) {
  ExpectInvalid(cnrtQueueCreate(nullptr), "cnrtQueueCreate: queue");
  ExpectInvalid(cnrtQueueDestroy(nullptr), "cnrtQueueDestroy: queue");
  EXPECT_EQ(cnrtQueueSync(nullptr), cnrtSuccess);
  EXPECT_EQ(cnrtSyncDevice(), cnrtSuccess);
}

class CnrtNotifier : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cnrtNotifierCreate(&start_), cnrtSuccess);
    ASSERT_EQ(cnrtNotifierCreate(&end_), cnrtSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cnrtNotifierDestroy(start_), cnrtSuccess);
    EXPECT_EQ(cnrtNotifierDestroy(end_), cnrtSuccess);
  }
  cnrtNotifier_t start_ = nullptr;
  cnrtNotifier_t end_ = nullptr;
};

TEST_F(CnrtNotifier, MeasuresElapsedTime) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  ASSERT_EQ(cnrtPlaceNotifier(start_, nullptr), cnrtSuccess);
  std::this_thread::sleep_for(kPause);
  ASSERT_EQ(cnrtPlaceNotifier(end_, nullptr), cnrtSuccess);
  ASSERT_EQ(cnrtWaitNotifier(end_), cnrtSuccess);
  float us = 0, ms = 0;
  EXPECT_EQ(cnrtNotifierDuration(start_, end_, &us), cnrtSuccess);
  EXPECT_EQ(cnrtNotifierElapsedTime(start_, end_, &ms), cnrtSuccess);
  EXPECT_GE(us, 5000.0f);
  EXPECT_LT(us, 5e6f);
  EXPECT_FLOAT_EQ(ms, us / 1000);
}

TEST_F(CnrtNotifier, SwappedNotifiersGiveNegativeTime) {
  ASSERT_EQ(cnrtPlaceNotifier(start_, nullptr), cnrtSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_EQ(cnrtPlaceNotifier(end_, nullptr), cnrtSuccess);
  float us = 0;
  EXPECT_EQ(cnrtNotifierDuration(end_, start_, &us), cnrtSuccess);
  EXPECT_LE(us, -1000.0f);
}

TEST_F(CnrtNotifier, DurationBeforePlacingReturnsArgsInvalid) {
  float us = 7;
  ExpectInvalid(cnrtNotifierDuration(start_, end_, &us), "cnrtNotifierDuration: start");
  ASSERT_EQ(cnrtPlaceNotifier(start_, nullptr), cnrtSuccess);
  ExpectInvalid(cnrtNotifierElapsedTime(start_, end_, &us), "cnrtNotifierElapsedTime: end");
  EXPECT_EQ(us, 7.0f);
}

TEST_F(CnrtNotifier, NullReturnsArgsInvalid) {
  float us = 0;
  ExpectInvalid(cnrtNotifierCreate(nullptr), "cnrtNotifierCreate: notifier");
  ExpectInvalid(cnrtNotifierDestroy(nullptr), "cnrtNotifierDestroy: notifier");
  ExpectInvalid(cnrtPlaceNotifier(nullptr, nullptr), "cnrtPlaceNotifier: notifier");
  ExpectInvalid(cnrtWaitNotifier(nullptr), "cnrtWaitNotifier: notifier");
  ExpectInvalid(cnrtNotifierDuration(nullptr, end_, &us), "cnrtNotifierDuration: start");
  ExpectInvalid(cnrtNotifierDuration(start_, nullptr, &us), "cnrtNotifierDuration: end");
  ExpectInvalid(cnrtNotifierDuration(start_, end_, nullptr), "cnrtNotifierDuration: us");
  ExpectInvalid(cnrtNotifierElapsedTime(start_, end_, nullptr), "cnrtNotifierElapsedTime: ms");
}

TEST(CnrtGetErrorStr, StartsWithTheName) {
  std::set<std::string> names;
  for (const cnrtRet_t error :
       {cnrtSuccess, cnrtErrorArgsInvalid, cnrtErrorNoDevice, cnrtErrorNoMem, cnrtErrorUnknown}) {
    const std::string name = cnrtGetErrorName(error);
    EXPECT_EQ(std::string(cnrtGetErrorStr(error)).find(name), 0u) << name;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 5u);
  EXPECT_EQ(names.count("cnrtErrorNoMem"), 1u);
}

TEST(CnrtGetErrorStr, OtherValueReturnsUnknown) {
  for (const int value : {-1, 1, 100000, 1000000}) {
    EXPECT_STREQ(cnrtGetErrorStr(static_cast<cnrtRet_t>(value)), "unknown error");
  }
}

TEST(CnrtGetDevice, DeviceZeroIsCurrentOnANewThread) {
  unsigned int count = 0;
  int ordinal = -1;
  EXPECT_EQ(cnrtGetDeviceCount(&count), cnrtSuccess);
  EXPECT_GE(count, 1u);
  std::thread([&] { EXPECT_EQ(cnrtGetDevice(&ordinal), cnrtSuccess); }).join();
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(cnrtSetDevice(0), cnrtSuccess);
}

TEST(CnrtSetDevice, NullOrUnknownOrdinalReturnsArgsInvalid) {
  unsigned int count = 0;
  ASSERT_EQ(cnrtGetDeviceCount(&count), cnrtSuccess);
  ExpectInvalid(cnrtGetDeviceCount(nullptr), "cnrtGetDeviceCount: count");
  ExpectInvalid(cnrtGetDevice(nullptr), "cnrtGetDevice: ordinal");
  ExpectInvalid(cnrtSetDevice(-1), "cnrtSetDevice: ordinal");
  ExpectInvalid(cnrtSetDevice(static_cast<int>(count)), "cnrtSetDevice: ordinal");
}

}  // namespace
}  // namespace mluop::testing
