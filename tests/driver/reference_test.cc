// SPDX-License-Identifier: Apache-2.0
// Tests of the test code: references, plain loops, minimum work, and Mirror, which copies a call's
// tensors to another device (here the CPU).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "testing/mirror.h"
#include "testing/prepared_call.h"
#include "tests/support/entries.h"
#include "tests/support/small_cases.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

// The operator's cases of at most 256 KiB, in both types.
std::vector<Case> SmallCases(const Entry& entry) { return CasesWithin(1 << 18, entry.name()); }

class Reference : public ::testing::TestWithParam<Entry> {};
INSTANTIATE_TEST_SUITE_P(All, Reference, ::testing::ValuesIn(OperatorEntries()), EntryName);

TEST_P(Reference, PlainLoopsAgree) {
  int compared = 0;
  for (const Case& test_case : SmallCases(GetParam())) {
    SCOPED_TRACE(test_case.line);
    if (CaseCall(test_case).arguments.tensors[0].ByteCount() == 0) continue;
    PreparedCall call(test_case, Placement::kBack);
    const Baseline baseline(call);
    call.PoisonOutputs();
    call.RunPlain();
    std::string details;
    ASSERT_EQ(baseline.Compare(call, &details), "") << details;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_P(Reference, MinimumWorkIsAtMostTheTensorBytes) {
  for (const Case& test_case : SmallCases(GetParam())) {
    SCOPED_TRACE(test_case.line);
    const PreparedCall call(test_case, Placement::kFront);
    const Work work = test_case.test->work(call.arguments());
    EXPECT_GE(work.bytes, 0);
    EXPECT_LE(work.bytes, TensorBytes(test_case));
    EXPECT_GE(work.operations, 0);
  }
}

TEST_P(Reference, OperatorAgreesOnMirroredTensors) {
  const Handle handle;
  const std::vector<Case> cases = SmallCases(GetParam());
  for (size_t i = 0; i < std::min<size_t>(cases.size(), 5); ++i) {
    SCOPED_TRACE(cases[i].line);
    PreparedCall call(cases[i], Placement::kFront);
    const Baseline baseline(call);
    for (const Placement placement : {Placement::kFront, Placement::kBack}) {
      Mirror mirror(call, placement);
      for (const size_t workspace : {size_t{0}, call.WantedWorkspace(handle)}) {
        mirror.SetWorkspace(workspace);
        mirror.PoisonOutputs();
        call.PoisonOutputs();
        ASSERT_EQ(mirror.Run(handle), MLUOP_STATUS_SUCCESS) << LastMessage();
        ASSERT_EQ(mirror.Fetch(), "");
        std::string details;
        EXPECT_EQ(baseline.Compare(call, &details), "") << details;
      }
    }
  }
}

// Runs `wrong_call` instead of masked_im2col_forward and returns the message of Fetch.
std::string FetchedAfter(mluOpStatus_t (*wrong_call)(mluOpHandle_t, const Arguments&)) {
  Case test_case =
      ParseCase("masked_im2col_forward C=2 H=3 W=4 M=5 kernel_h=2 kernel_w=3 pad_h=0 pad_w=0");
  OperatorTest wrong = *test_case.test;
  wrong.call = wrong_call;
  test_case.test = &wrong;
  const PreparedCall call(test_case, Placement::kFront);
  Mirror mirror(call, Placement::kBack);
  mirror.SetWorkspace(8);
  EXPECT_EQ(mirror.Run(nullptr), MLUOP_STATUS_SUCCESS);
  return mirror.Fetch();
}

mluOpStatus_t Flip(void* data, int64_t offset) {
  static_cast<unsigned char*>(data)[offset] ^= 1;
  return MLUOP_STATUS_SUCCESS;
}

TEST(MirrorFetch, ReportsAWriteBeforeATensor) {
  EXPECT_EQ(FetchedAfter([](mluOpHandle_t, const Arguments& a) {
              return Flip(a.Tensor("data_col").data, -1);
            }),
            "memory before data_col was overwritten");
}

TEST(MirrorFetch, ReportsAWriteAfterATensor) {
  EXPECT_EQ(FetchedAfter([](mluOpHandle_t, const Arguments& a) {
              const TensorArgument& tensor = a.Tensor("data_col");
              return Flip(tensor.data, static_cast<int64_t>(tensor.ByteCount()));
            }),
            "memory after data_col was overwritten");
}

TEST(MirrorFetch, ReportsAWriteToAnInput) {
  EXPECT_EQ(FetchedAfter([](mluOpHandle_t, const Arguments& a) {
              return Flip(a.Tensor("mask_w_idx").data, 3);
            }),
            "the input mask_w_idx was overwritten");
}

TEST(MirrorFetch, ReportsAWriteAfterTheWorkspace) {
  EXPECT_EQ(FetchedAfter([](mluOpHandle_t, const Arguments& a) {
              return Flip(a.workspace.data, static_cast<int64_t>(a.workspace.size));
            }),
            "memory after the workspace was overwritten");
}

}  // namespace
}  // namespace mluop::testing
