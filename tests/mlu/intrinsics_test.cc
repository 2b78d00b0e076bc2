// SPDX-License-Identifier: Apache-2.0
// Tests the results of the intrinsics on mlu370 and mlu590.
#include "intrinsics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "mluops/extensions.h"

namespace {

using Values = std::vector<float>;

// Returns whether the process simulates this card.
bool IsCard(const std::string& name) {
  const char* const card = std::getenv("MLUOP_MLU_ARCH");
  return (card == nullptr ? "mlu370" : std::string(card)) == name;
}

class Intrinsics : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cnrtQueueCreate(&queue_), cnrtSuccess) << mluOpGetLastErrorMessage();
    ASSERT_EQ(cnrtMalloc(&in_, kBytes), cnrtSuccess);
    ASSERT_EQ(cnrtMalloc(&out_, kBytes), cnrtSuccess);
    ASSERT_EQ(cnrtMemset(out_, 0, kBytes), cnrtSuccess);
  }
  void TearDown() override {
    cnrtFree(in_);
    cnrtFree(out_);
    cnrtQueueDestroy(queue_);
  }

  // Returns the first `count` outputs; sets message_ if the launch fails.
  Values Run(Group group, Values in, size_t count) {
    in.resize(kValues);
    EXPECT_EQ(cnrtMemcpy(in_, in.data(), kBytes, cnrtMemcpyHostToDev), cnrtSuccess);
    LaunchGroup(group, queue_, static_cast<float*>(in_), static_cast<float*>(out_));
    message_ = cnrtQueueSync(queue_) == cnrtSuccess ? "" : mluOpGetLastErrorMessage();
    Values out(kValues);
    EXPECT_EQ(cnrtMemcpy(out.data(), out_, kBytes, cnrtMemcpyDevToHost), cnrtSuccess);
    out.resize(count);
    return out;
  }

  static constexpr size_t kBytes = kValues * sizeof(float);
  cnrtQueue_t queue_ = nullptr;
  void* in_ = nullptr;
  void* out_ = nullptr;
  std::string message_;
};

Values Iota(int count) {
  Values values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST_F(Intrinsics, ConversionsRoundInTheirMode) {
  const Values out = Run(Group::kRounding, {-1.7f, 1.2f, -0.5f, 0.5f, 1.5f, 2.5f, 3.4f, -1.2f}, 56);
  EXPECT_EQ(message_, "");
  const Values tz = {-1, 1, 0, 0, 1, 2, 3, -1}, oz = {-2, 2, -1, 1, 2, 3, 4, -2},
               up = {-1, 2, 0, 1, 2, 3, 4, -1}, dn = {-2, 1, -1, 0, 1, 2, 3, -2},
               rd = {-2, 1, -1, 1, 2, 3, 3, -1}, rn = {-2, 1, 0, 0, 2, 2, 3, -1},
               scaled = {-6, 4, -2, 2, 6, 10, 12, -4};
  Values expected;
  for (const Values& part : {tz, oz, up, dn, rd, rn, scaled})
    expected.insert(expected.end(), part.begin(), part.end());
  EXPECT_EQ(out, expected);
}

TEST_F(Intrinsics, HalfRoundsAfterEveryOperation) {
  const Values in = {1.0f, 1.00048828125f, 65504.0f, 65519.0f, 65520.0f, 1e-7f, -1.0001f, 0.1f};
  const Values out = Run(Group::kHalf, in, 32);
  EXPECT_EQ(message_, "");
  const float inf = INFINITY;
  EXPECT_EQ(Values(out.begin(), out.begin() + 8),
            (Values{1, 1, 65504, 65504, inf, 1.1920928955078125e-07f, -1, 0.0999755859375f}));
  EXPECT_EQ(Values(out.begin() + 8, out.begin() + 16),
            (Values{1, 1, 65504, 65504, 65504, 5.9604644775390625e-08f, -1.0009765625f,
                    0.0999755859375f}));
  EXPECT_EQ(
      Values(out.begin() + 16, out.begin() + 24),
      (Values{1, 1.0009765625f, 65504, inf, inf, 1.1920928955078125e-07f, -1, 0.10003662109375f}));
  EXPECT_EQ(out[24], 2048.0f);  // 2049 is not a half; ties go to even
}

TEST_F(Intrinsics, ComparisonsWithNanAreFalse) {
  const float nan = NAN;
  const Values out = Run(Group::kNan, {nan, 1, 2, 0, 5, nan, 3, 0}, 12);
  EXPECT_EQ(message_, "");
  EXPECT_TRUE(std::isnan(out[0]));  // maxequal: a, if either is NaN
  EXPECT_EQ(Values(out.begin() + 1, out.end()), (Values{1, 3, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
}

TEST_F(Intrinsics, ArgmaxWritesValueAndFirstIndex) {
  EXPECT_EQ(Run(Group::kArgmax, {3, NAN, 9, 1, 9, -4, 2, -4, 0, 0, 0, 0, 0, 0, 0, 0}, 4),
            (Values{9, -4, 2, 5}));
  EXPECT_EQ(message_, "");
}

TEST_F(Intrinsics, LayoutsOfMatrices) {
  const Values out = Run(Group::kLayout, Iota(6), 42);
  EXPECT_EQ(message_, "");
  EXPECT_EQ(out, (Values{0, 3, 1, 4, 2, 5,                       // transpose
                         2, 1, 0, 5, 4, 3,                       // mirror
                         3, 0, 4, 1, 5, 2,                       // rotate90
                         5, 4, 3, 2, 1, 0,                       // rotate180
                         2, 5, 1, 4, 0, 3,                       // rotate270
                         0, 0, 0, 0, 0, 1, 2, 0, 3, 4, 5, 0}));  // pad
}

TEST_F(Intrinsics, SelectionPacksAndCounts) {
  const Values out = Run(Group::kSelection, {-1, 5, 0, 7, -2, 9, -3, -4}, 13);
  EXPECT_EQ(message_, "");
  EXPECT_EQ(out, (Values{5, 7, 9, 0, 0, 0, 0, 0, 3, 1, 5, 3, 0}));
}

TEST_F(Intrinsics, ReduceSumKeepsTheOtherLanes) {
  Values expected = Iota(64);
  expected[0] = 496;
  expected[32] = 1520;
  EXPECT_EQ(Run(Group::kReduceSum, Iota(64), 64), expected);
  EXPECT_EQ(message_, "");
}

TEST_F(Intrinsics, PoolTakesStrideOfWidthFirst) {
  const Values out = Run(Group::kPool, Iota(24), 16);
  EXPECT_EQ(message_, "");
  EXPECT_EQ(out, (Values{20, 24, 36, 40, 52, 56, 68, 72, 10, 11, 14, 15, 18, 19, 22, 23}));
}

TEST_F(Intrinsics, FusionRepeatsShortOperands) {
  const Values out = Run(Group::kFusion, {1, 2, 3, 4, 5, 6, 7, 8, 10, 20, 30, 40}, 32);
  EXPECT_EQ(message_, "");
  EXPECT_EQ(out, (Values{20, 60,  120, 200, 60, 140, 240, 360,     // a*b+c
                         0,  20,  60,  120, 40, 100, 180, 280,     // (a-1)*c
                         2,  3,   4,   5,   6,  7,   8,   9,       // a-2+3
                         -9, -18, -27, -36, -5, -14, -23, -32}));  // cycle_sub
}

TEST_F(Intrinsics, CopiesIn2DAnd3D) {
  const Values out = Run(Group::kCopies, Iota(128), 100);
  EXPECT_EQ(message_, "");
  Values expected = {0,  1,  2, 3, 0, 1, 2,  3,  0,  1,  2, 3, 0,  1,  2,  3,  12, 13,
                     14, 15, 4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 20, 21, 22, 23};
  for (int i = 0; i < 64; ++i) expected.push_back(static_cast<float>(i < 32 ? i : i + 32));
  EXPECT_EQ(out, expected);
}

TEST_F(Intrinsics, AtomicsAddOverAllTasks) {
  Values expected(64, 4.0f);
  expected.push_back(8.0f);
  expected.push_back(12.0f);
  EXPECT_EQ(Run(Group::kAtomics, {3.0f}, 66), expected);
  EXPECT_EQ(message_, "");
}

TEST_F(Intrinsics, ExistOnTheirArchitecturesOnly) {
  const Values gathered = Run(Group::kGather, Iota(64), 16);
  if (IsCard("mlu590")) {
    EXPECT_EQ(message_, "");
    EXPECT_EQ(gathered, (Values{24, 25, 26, 27, 16, 17, 18, 19, 8, 9, 10, 11, 0, 1, 2, 3}));
  } else {
    EXPECT_NE(message_.find("__gather in kernel GatherRows, task 0"), std::string::npos)
        << message_;
    EXPECT_NE(message_.find("does not exist on mlu370 (__BANG_ARCH__ 372)"), std::string::npos)
        << message_;
  }
  Run(Group::kDivision, Values(8, 2.0f), 8);
  EXPECT_EQ(message_.empty(), IsCard("mlu590")) << message_;
}

TEST_F(Intrinsics, MemoryCoreFeedsTheCluster) {
  Values expected = Iota(kValues);
  for (float& value : expected) value += 1;
  EXPECT_EQ(Run(Group::kPipeline, Iota(kValues), kValues), expected);
  EXPECT_EQ(message_, "");
}

TEST_F(Intrinsics, TaskIdOnTheMemoryCoreIsReported) {
  Run(Group::kMemoryCoreTaskId, {}, 1);
  EXPECT_NE(message_.find("taskId in kernel MemoryCoreTaskId, memory core of cluster 0"),
            std::string::npos)
      << message_;
}

TEST_F(Intrinsics, ScalarWritesCountAsWritten) {
  Values expected = Iota(64);
  for (float& value : expected) value += 2;
  EXPECT_EQ(Run(Group::kScalarWrites, Iota(64), 64), expected);
  EXPECT_EQ(message_, "");
}

TEST_F(Intrinsics, BitIndexPutsResultIInBitI) {
  Values expected = {1, 3, 5, 7, 9, 11, 13, 15, 0, 0, 0, 0, 0, 0, 0, 0, 8};
  Values in;
  for (int i = 0; i < 16; ++i) in.push_back(i % 2 == 1 ? static_cast<float>(i) : -1.0f);
  EXPECT_EQ(Run(Group::kBitIndex, in, 17), expected);
  EXPECT_EQ(message_, "");
}

}  // namespace
