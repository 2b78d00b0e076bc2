// SPDX-License-Identifier: Apache-2.0
// Runs 84 faulty kernels: each must end with a report that names its source line. The same kernels without their defect
// must run without a report. After every run a correct kernel runs; the failure must not affect it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "faults/fault.h"
#include "mluops/extensions.h"

namespace {

struct FaultFile {
  const char* name;
  void (*launch)(int index, const FaultRun& run);
  std::vector<const char*> kernels;
};

const FaultFile kFiles[] = {
    {"count_units",
     LaunchCountUnits,
     {"AddCountInBytes", "CopySizeInElements", "FillCountInBytes", "BandCountInElements"}},
    {"forgotten_sync",
     LaunchForgottenSync,
     {"LoadThenAdd", "AddThenStore", "LoadThenMove", "SharedWithoutBarrier"}},
    {"ping_pong",
     LaunchPingPong,
     {"LoadOverOperand", "ComputeOverStore", "WrongHalf", "SharedHalfTooEarly"}},
    {"strides",
     LaunchStrides,
     {"LoadSegmentCount", "StrideBelowSize", "SegmentProducts", "StoreSegmentCount"}},
    {"alignment", LaunchAlignment, {"UnalignedOperand", "OddTail", "OddMove", "OddFill"}},
    {"nram_overflow",
     LaunchNramOverflow,
     {"AddOneMore", "LoadOneMore", "FillOneMore", "DeclareOneMore"}},
    {"direction", LaunchDirection, {"StoreAsLoad", "SharedAsNram", "GdramAsNram", "GdramAsShared"}},
    {"gdram_operand",
     LaunchGdramOperand,
     {"SourceInGdram", "ResultInGdram", "FillInGdram", "TransposeOfGdram"}},
    {"barrier",
     LaunchBarrier,
     {"BarrierOfOneCore", "MemoryCoreReturned", "BarrierInUnequalLoops", "ExtraBarrierOfOneCore"}},
    {"read_before_write",
     LaunchReadBeforeWrite,
     {"AddUnwritten", "StoreUnwritten", "CountUnwritten", "MaxOfUnwrittenTail"}},
    {"outside", LaunchOutside, {"LoadPastEnd", "StorePastEnd", "LoadBeforeStart", "FillPastEnd"}},
    {"two_writers",
     LaunchTwoWriters,
     {"AllWriteTheStart", "SharesOverlap", "AllFill", "RowsOverlap"}},
    {"slips_counts",
     LaunchSlipsCounts,
     {"RowStrideInElements", "MoveSizeInElements", "IntZeroIntoHalf", "SourceStrideOneMore",
      "ColumnSegmentsCount", "SharedSegmentsCount"}},
    {"slips_order",
     LaunchSlipsOrder,
     {"WaitsForWrongQueue", "PackThenStore", "SyncAtLoopStart", "LoadBeforeStore",
      "NoSyncBetweenSlots", "RefillsWithoutBarrier", "IdleTasksReturn", "BarrierForCoresOnly",
      "TwoKindsOfBarrier"}},
    {"slips_memory",
     LaunchSlipsMemory,
     {"TransposesOneMore", "ConvertsOneMore", "LastChunkOneLate", "StoresSharedAsNram",
      "SwappedOperands", "WeightsAsNram", "ComparesWithGdram", "CyclesOverGdram",
      "MaximumIntoGdram"}},
    {"slips_data",
     LaunchSlipsData,
     {"SkippedLoad", "StoresTransposedTail", "AccumulatesFromNothing", "PaddedLastLoad",
      "WalksBackwards", "AtomicPastEnd", "PaddedStores", "SplitsByX", "MemoryCoreStoresToo"}},
    {"slips_290", LaunchSlips290, {"OddCycle", "HalfTail", "NarrowTranspose"}},
};

// Later architectures accept the operands that 2xx refuses. The other files use instructions that 2xx lacks.
bool IsFor290(const FaultFile& file) {
  return std::string(file.name) == "alignment" || std::string(file.name) == "slips_290";
}

bool Is290() {
  const char* const architecture = std::getenv("MLUOP_MLU_ARCH");
  return architecture != nullptr && std::string(architecture) == "mlu290";
}

// Returns "file.mlu:line:" for each line marked with the kernel's name.
std::vector<std::string> MarkedLines(const FaultFile& file, const std::string& kernel) {
  const std::string name = std::string(file.name) + ".mlu";
  std::ifstream source(std::string(MLUOPS_FAULTS_FOLDER "/") + name);
  std::vector<std::string> places;
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (line.ends_with("// FAULT " + kernel))
      places.push_back(name + ":" + std::to_string(number) + ":");
  }
  return places;
}

class FaultTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cnrtQueueCreate(&queue_), cnrtSuccess) << mluOpGetLastErrorMessage();
    ASSERT_EQ(cnrtMalloc(&in_, kCount * sizeof(float)), cnrtSuccess);
    ASSERT_EQ(cnrtMalloc(&out_, kCount * sizeof(float)), cnrtSuccess);
    std::vector<float> ones(kCount, 1.0f);
    ASSERT_EQ(cnrtMemcpy(in_, ones.data(), kCount * sizeof(float), cnrtMemcpyHostToDev),
              cnrtSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cnrtFree(in_), cnrtSuccess);
    EXPECT_EQ(cnrtFree(out_), cnrtSuccess);
    EXPECT_EQ(cnrtQueueDestroy(queue_), cnrtSuccess);
  }

  // Returns the message of a failed launch, "" after success.
  std::string Run(const FaultFile& file, int index, bool fault) {
    file.launch(index, {queue_, static_cast<const float*>(in_), static_cast<float*>(out_), fault});
    return cnrtQueueSync(queue_) == cnrtSuccess ? "" : mluOpGetLastErrorMessage();
  }

  cnrtQueue_t queue_ = nullptr;
  void* in_ = nullptr;
  void* out_ = nullptr;
};

TEST_F(FaultTest, IsReportedWithItsLine) {
  int reported = 0, all = 0;
  for (const FaultFile& file : kFiles) {
    if (IsFor290(file) != Is290()) continue;
    int index = 0;
    for (const char* const kernel : file.kernels) {
      const std::string message = Run(file, index++, true);
      const std::vector<std::string> places = MarkedLines(file, kernel);
      ASSERT_FALSE(places.empty());
      bool found = false;
      for (const std::string& place : places) found |= message.find(place) != std::string::npos;
      ++all;
      reported += found;
      std::printf("%-9s %s: %s\n", found ? "reported" : "MISSED", kernel, message.c_str());
      EXPECT_EQ(Run(kFiles[0], 0, false), "") << "after " << kernel;
    }
  }
  std::printf("%d of %d faults reported\n", reported, all);
  EXPECT_EQ(reported, all);
  EXPECT_EQ(all, Is290() ? 7 : 77);
}

TEST_F(FaultTest, CorrectTwinsRunWithoutReport) {
  for (const FaultFile& file : kFiles) {
    if (Is290() && !IsFor290(file)) continue;
    int index = 0;
    for (const char* const kernel : file.kernels) {
      for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(Run(file, index, false), "") << kernel;
      ++index;
    }
  }
}

}  // namespace
