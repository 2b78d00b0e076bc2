// SPDX-License-Identifier: Apache-2.0
// Order of copies, scalar writes, barriers and alignment, on every card.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "forms_fixture.h"

namespace mluop::testing {
namespace {

TEST_F(Forms, ScalarWritesWithGapsCountAsWritten) {
  Values expected;
  for (int i = 0; i < 64; ++i) expected.push_back(static_cast<float>(i % 32 + 1));
  EXPECT_EQ(Run("ScalarGap", Iota(32), 64), expected);
  ExpectNoMessage();
  const Values out = Run("ScalarGapBehindCopy", Iota(32), 63);
  EXPECT_EQ(Values(out.begin() + 1, out.begin() + 32),
            Values(expected.begin() + 1, expected.begin() + 32));
  EXPECT_EQ(Values(out.begin() + 32, out.end()), Values(expected.begin(), expected.begin() + 31));
  ExpectMessage("read bytes that nothing has written");  // the last store, of a gap
}

TEST_F(FormsFrom3xx, GatherTakesOffsetsAndMaskOfAnEarlierCopy) {
  Values in = Iota(64);
  const uint32_t offsets[] = {12, 8, 4, 0}, mask = 7;
  std::memcpy(in.data(), offsets, sizeof(offsets));
  std::memcpy(&in[4], &mask, sizeof(mask));
  const Values out = Run("GatherAfterOffsets", in, 3);
  if (Card() < 500) return ExpectMessage("does not exist on mlu370");
  ExpectNoMessage();
  EXPECT_EQ(out, (Values{11, 10, 9}));
}

TEST_F(Forms, StridedConversionKeepsTheOrderOfMove) {
  const Values out = Run("ConvertAfterMove", Iota(64), 64);
  if (Card() < 300) return ExpectMessage("does not exist on mlu290");
  ExpectNoMessage();
  EXPECT_EQ(out, Iota(64));
}

TEST_F(Forms, SynchronousCopyInNramNeedsNoSync) {
  EXPECT_EQ(Run("SynchronousCopy", Iota(64), 64), Iota(64));
  ExpectNoMessage();
}

TEST_F(Forms, ConversionsWithoutModeRoundTowardZero) {
  EXPECT_EQ(Run("ConvertsScalars", {}, 3), (Values{2050, 2, 2}));
  ExpectNoMessage();
}

// Whether a barrier waits for the copies of a core is not known. Normal mode: it does.
TEST_F(Forms, BarrierDoesNotWaitForCopiesInStrictMode) {
  Values expected = Iota(64);
  for (const float x : Iota(64)) expected.push_back(x);
  EXPECT_EQ(Run("StoreBeforeBarrier", Iota(64), 128), expected);
  ExpectNoMessage();
  EXPECT_EQ(Run("LoadSharedBeforeBarrier", Iota(128), 128), Iota(128));
  ExpectNoMessage();
  for (const char* const kernel :
       {"StoreBeforeBarrierWithoutSync", "LoadSharedBeforeBarrierWithoutSync"}) {
    Run(kernel, Iota(128), 1);
    if (!IsStrict()) {
      ExpectNoMessage();
      continue;
    }
    ExpectMessage("in kernel " + std::string(kernel).substr(0, std::strlen(kernel) - 11) +
                  "<false>, task ");
    ExpectMessage("without a barrier in between");
    ExpectMessage("(a barrier orders only copies that are synchronized)");
  }
}

TEST_F(FormsFrom3xx, LoadMayReplaceAResultThatScalarCodeReads) {
  Values in = Iota(128), expected(in.begin() + 64, in.end());
  expected.push_back(63);
  EXPECT_EQ(Run("RelayAfterScalarRead", in, 65), expected);
  ExpectNoMessage();
}

TEST_F(Forms, OldNamesNeedAlignedOperandsOn2xx) {
  const struct {
    const char *kernel, *message;
  } cases[] = {
      {"UnalignedOldMax", "a must have a 64-byte address on 2xx, got one 4 bytes behind"},
      {"OddPad", "dst must have a multiple of 128 bytes on 2xx, got 100"},
      {"UnalignedOldCount",
       "__bang_findlast1 in kernel UnalignedOldCount, task 0, core 0 of "
       "cluster 0: dst must have a 64-byte address on 2xx, got one 16 bytes"},
  };
  for (const auto& [kernel, message] : cases) {
    Run(kernel, Iota(64), 1);
    if (Card() < 300)
      ExpectMessage(message);
    else
      ExpectNoMessage();
  }
}

TEST_F(Forms, MemoryCoreDoesNotTakePartInBarriersOfMluCores) {
  Run("MemoryCoreAtBarrierOfOthers", {}, 1);
  ExpectMessage(
      "__sync_all_ipu in kernel MemoryCoreAtBarrierOfOthers, memory core of cluster 0: "
      "the memory core takes no part in this barrier");
}

TEST_F(Forms, HalfHasIncrementAndDecrement) {
  EXPECT_EQ(Run("IncrementsHalf", {1.5f}, 2), (Values{2, -2}));
  ExpectNoMessage();
}

}  // namespace
}  // namespace mluop::testing
