// SPDX-License-Identifier: Apache-2.0
// The less common forms of the intrinsics, and their gates, on every card.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "forms_fixture.h"

namespace mluop::testing {
namespace {

TEST_F(FormsFrom3xx, SquareOfIntegersWidens) {
  const Values out = Run("WideningSquare", {-12, 11, 100, -128, 127, 0, 1, 2}, 24);
  ExpectNoMessage();
  const Values bytes = {144, 121, 10000, 16384, 16129, 0, 1, 4};
  Values expected;
  for (const float value : bytes) expected.push_back(value * 200 * 200);
  for (int i = 0; i < 2; ++i) expected.insert(expected.end(), bytes.begin(), bytes.end());
  EXPECT_EQ(out, expected);
}

TEST_F(FormsFrom3xx, StridedConversionRunsOnMove) {
  EXPECT_EQ(Run("StridedConversion", Iota(16), 8), (Values{0, 1, 4, 5, 8, 9, 12, 13}));
  ExpectNoMessage();
  Run("StridedConversionWithoutSync", Iota(16), 1);
  ExpectMessage("which __bang_float2half_rn of line");
  ExpectMessage("(Move queue) still writes: a synchronisation is missing");
}

TEST_F(FormsFrom3xx, AtomicOfThreeDimensions) {
  const Values out = Run("Atomic3D", Iota(12), 26);
  if (Card() < 500) return ExpectMessage("__bang_atomic_reduce_add in kernel Atomic3D");
  ExpectNoMessage();
  EXPECT_EQ(out, (Values{0, 2, 0, 0,  4,  6, 0, 0,  8,  10, 0, 0,  0,
                         0, 0, 0, 12, 14, 0, 0, 16, 18, 0,  0, 20, 22}));
}

TEST_F(FormsFrom3xx, CompareAndSwapReplacesTheExpectedValue) {
  EXPECT_EQ(Run("CompareAndSwap", {1}, 3), (Values{9, 5, 7}));
  ExpectNoMessage();
}

TEST_F(FormsFrom3xx, CopyReachesTheOtherCluster) {
  const Values out = Run("CopyToCluster", Iota(128), 128);
  if (Card() > 500) return ExpectMessage("does not exist on mlu590");
  ExpectNoMessage();
  Values expected;
  for (int i = 0; i < 128; ++i) expected.push_back(static_cast<float>((i + 64) % 128));
  EXPECT_EQ(out, expected);
  Run("CopyToMissingCluster", Iota(128), 1);
  ExpectMessage("id_dst_cluster must be less than clusterDim = 2, got 2");
}

TEST_F(FormsFrom3xx, MoveOfThreeDimensions) {
  const Values out = Run("Move3D", Iota(192), 192);
  if (Card() < 500) return ExpectMessage("does not exist on mlu370");
  ExpectNoMessage();
  Values expected;
  for (const int segment : {0, 3, 1, 4, 2, 5}) {
    for (int i = 0; i < 32; ++i) expected.push_back(static_cast<float>(segment * 32 + i));
  }
  EXPECT_EQ(out, expected);
}

TEST_F(FormsFrom3xx, PoolWritesTheIndexInsideTheWindow) {
  const Values out =
      Run("PoolIndices",
          {0, 9, 2, 3, 4, 5, 6, 7, 8, 0, 1, 1, 9, 9, 0, 1, 2, 3, 14, 15, 16, 0, 0, 0}, 26);
  ExpectNoMessage();
  const Values indices = {2, 0, 2, 2, 3, 3, 2, 0};
  EXPECT_EQ(Values(out.begin(), out.begin() + 8), indices);
  EXPECT_EQ(Values(out.begin() + 8, out.begin() + 16), indices);
  EXPECT_EQ(Values(out.begin() + 16, out.begin() + 18), (Values{0, 0}));
  EXPECT_EQ(Values(out.begin() + 18, out.end()), (Values{8, 9, 9, 9, 14, 15, 16, 9}));
}

TEST_F(FormsFrom3xx, GatherTakesTheDirectionFromItsAddresses) {
  const Values out = Run("GatherByAddress", Iota(64), 16);
  if (Card() < 500) return ExpectMessage("does not exist on mlu370");
  ExpectNoMessage();
  EXPECT_EQ(out, (Values{24, 25, 26, 27, 0, 0, 0, 0, 8, 9, 10, 11, 0, 1, 2, 3}));
}

TEST_F(FormsFrom3xx, SelectPacksFromByte128On) {
  Values in(32, -1.0f);
  in[3] = 5, in[17] = 6, in[31] = 7;
  EXPECT_EQ(Run("Select", in, 4), (Values{3, 5, 6, 7}));
  ExpectNoMessage();
}

TEST_F(Forms, EveryNameOfTheTablesRuns) {
  Run("EveryName", {}, 1);
  if (Card() == 590) return ExpectNoMessage();
  ExpectMessage("does not exist on mlu" + std::to_string(Card()));
}

TEST_F(Forms, OverflowSaturatesOn2xx) {
  const Values out = Run("Overflow", Values(64, -1e38f), 4);
  ExpectNoMessage();
  const float inf = INFINITY;
  if (Card() < 300) {
    EXPECT_EQ(out, (Values{std::numeric_limits<float>::max(), std::numeric_limits<float>::max(),
                           65504, -65504}));
  } else {
    EXPECT_EQ(out, (Values{inf, inf, inf, -inf}));
  }
  // The result of an operand that is infinite is not described: IEEE.
  EXPECT_EQ(Run("Overflow", Values(64, inf), 1)[0], inf);
}

TEST_F(FormsFrom3xx, DivisionOfIntegersByZeroIsReported) {
  const Values out = Run("DivideByZero", {3, 2, 1, 0}, 4);
  if (Card() < 500) return ExpectMessage("does not exist on mlu370");
  ExpectMessage("__bang_rem in kernel DivideByZero");
  ExpectMessage("b must not be 0");
  EXPECT_EQ(out, Values(4, -32768.0f));
}

TEST_F(Forms, IntegersNeed3xx) {
  Run("IntegersOn2xx", Iota(64), 1);
  if (Card() >= 300) return ExpectNoMessage();
  ExpectMessage("__bang_add in kernel IntegersOn2xx");
  ExpectMessage("does not exist on mlu290 (__BANG_ARCH__ 290) for integers");
}

TEST_F(Forms, FilterPadsOn2xx) {
  Values in(64, -1.0f), expected(33, 0.0f);
  for (size_t i = 0; i < 32; ++i) in[2 * i] = static_cast<float>(i + 1);
  if (Card() < 300) std::fill(in.begin() + 6, in.end(), -1.0f);
  const int count = Card() < 300 ? 3 : 32;
  for (int i = 0; i < count; ++i) expected[static_cast<size_t>(i)] = static_cast<float>(i + 1);
  expected[32] = static_cast<float>(count);
  EXPECT_EQ(Run("Filter", in, 33), expected);
  ExpectNoMessage();
  Run("FilterAndStoreAll", in, 1);
  if (Card() >= 300) return ExpectNoMessage();
  ExpectMessage("has bytes that nothing has written");
}

TEST_F(FormsFrom3xx, DivisionByZeroIsReportedForFloat) {
  Run("DivideFloatByZero", {1, 2, 0, 3}, 4);
  if (Card() < 500) return ExpectMessage("does not exist on mlu370");
  ExpectMessage("__bang_div in kernel DivideFloatByZero");
  ExpectMessage("b must not be 0");
}

TEST_F(Forms, SumTowardZeroKeepsInfinity) {
  Values in(128, 1.0f);
  in[0] = INFINITY, in[1] = -INFINITY, in[2] = 0x1p25f, in[66] = -1;
  EXPECT_EQ(Run("AddTowardZero", in, 4), (Values{INFINITY, -INFINITY, 0x1p25f - 2, 2}));
  ExpectNoMessage();
}

TEST_F(Forms, ActiveFunctions) {
  EXPECT_EQ(Run("Active", {-2, 0, 4}, 2), (Values{2, 0}));
  ExpectNoMessage();
  const Values out = Run("Active", {-2, 0, 4}, 15);
  EXPECT_EQ(Values(out.begin() + 2, out.begin() + 6), (Values{4, -1, 1, 1}));
  EXPECT_EQ(out[7], 1.0f);
  EXPECT_EQ(out[9], -0.5f);
  EXPECT_EQ(out[14], 2.0f);
}

TEST_F(FormsFrom3xx, OldNamesOfArgmax) {
  EXPECT_EQ(Run("OldExtremes", {1, 7, -3, 7, -3}, 4), (Values{7, 1, -3, 2}));
  ExpectNoMessage();
}

TEST_F(FormsFrom3xx, GatherMustNotOverlap) {
  Run("GatherOverItself", Iota(64), 4);
  if (Card() > 500) ExpectMessage("dst and src must not overlap");
}

TEST_F(FormsFrom3xx, StrideOf3DWithOneSegment) {
  Run("ShortStride3D", Iota(64), 1);
  ExpectMessage("dst_stride0 must be at least the size of 16 bytes, got 4");
}

TEST_F(Forms, MirrorNeeds128BytesOn2xx) {
  Run("NarrowMirror", Iota(512), 1);
  if (Card() >= 300) return ExpectNoMessage();
  ExpectMessage("height and width must be multiples of 128 bytes on 2xx");
}

TEST_F(Forms, PoolNeedsAlignedAddressesOn2xx) {
  Run("UnalignedPool", Iota(128), 1);
  if (Card() >= 300) return ExpectNoMessage();
  ExpectMessage("dst must have a 64-byte address on 2xx, got one 4 bytes behind");
}

TEST_F(FormsFrom3xx, InPlacePoolAndLookUpNeedTheirSwitch) {
  const bool allowed = std::getenv("MLUOP_MLU_IN_PLACE") != nullptr;
  const Values sums = Run("PoolInPlace", Iota(64), 2);
  if (!allowed) {
    ExpectMessage("__bang_sumpool in kernel PoolInPlace");
    Run("LookUpInPlace", Iota(64), 2);
    return ExpectMessage("dst and index must not overlap");
  }
  EXPECT_EQ(sums, (Values{0 + 1 + 16 + 17, 2 + 3 + 18 + 19}));
  EXPECT_EQ(Run("LookUpInPlace", Iota(64), 2), (Values{0, 2}));
  ExpectNoMessage();
}

// a * a = 1 + 2^-11 + 2^-24, which float rounds to 1 + 2^-11.
TEST_F(FormsFrom3xx, FusionRoundsTheMiddleResultByDefault) {
  const char* const fusion = std::getenv("MLUOP_MLU_FUSION");
  const float expected = fusion != nullptr && std::string(fusion) == "exact" ? 0x1p-24f : 0.0f;
  EXPECT_EQ(Run("MiddleResult", {1 + 0x1p-12f, -(1 + 0x1p-11f)}, 1), Values{expected});
  ExpectNoMessage();
}

TEST_F(Forms, RelayInOneQueueNeedsNoSync) {
  Values expected = Iota(32);
  expected.resize(64);
  EXPECT_EQ(Run("RelayWithoutSync", Iota(64), 64), expected);
  ExpectNoMessage();
}

TEST_F(Forms, StridedMoveMayOverlapFrom5xxOn) {
  const Values out = Run("ShiftRows", Iota(128), 96);
  if (Card() < 500) return ExpectMessage("dst and src must not overlap");
  ExpectNoMessage();
  EXPECT_EQ(out, [] {
    Values rows = Iota(128);
    rows.erase(rows.begin(), rows.begin() + 32);
    return rows;
  }());
}

TEST_F(Forms, MessageNamesCollect) {
  Run("CollectUnwritten", Iota(64), 1);
  ExpectMessage("__bang_collect in kernel CollectUnwritten");
}

// Both kernels: a load, a second load, and an instruction that reads the result of the first one.
TEST_F(Forms, MissingSyncNamesTheLineOfItsLoad) {
  for (const char* const kernel : {"AddAfterTwoLoads", "AddAfterOverlappingLoads"}) {
    Run(kernel, Iota(96), 1);
    ExpectMessage("reads 128 bytes of a, which __memcpy_async of line ");
    const int line = std::stoi(message_.substr(message_.find(':') + 1));
    ExpectMessage("of line " + std::to_string(line - 2) + " (IO queue) still writes");
  }
}

TEST_F(Forms, NegativeSizeRunsPastTheEnd) {
  Run("SizeFromInput", {-64}, 1);
  ExpectMessage("bytes past the end of ");
}

TEST_F(Forms, OneCopyOverlapsWithComputation) {
  Run("OneOverlap", Iota(32), 1);
  ExpectNoMessage();
}

TEST_F(Forms, RaceIsReportedAfterManyBarriers) {
  Run("RaceAfterManyBarriers", {}, 1);
  ExpectMessage("without a barrier in between");
}

TEST_F(Forms, BarrierMessageNamesTheMissingCore) {
  Run("FirstCoreReturns", {}, 1);
  ExpectMessage("not all cores reach this barrier: task 0 has returned, ");
}

TEST_F(Forms, ScalarFunctionsOfC) {
  EXPECT_EQ(Run("ClassifiesFloats", {NAN, INFINITY, 1}, 1), Values{7});
  ExpectNoMessage();
}

}  // namespace
}  // namespace mluop::testing
