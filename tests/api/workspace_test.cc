// SPDX-License-Identifier: Apache-2.0
// A workspace of the getter's size is used at any address. A smaller workspace, or one that
// overlaps an input, is ignored (docs/decisions/0006).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "mlu_op.h"
#include "testing/prepared_call.h"
#include "tests/support/entries.h"
#include "tests/support/small_cases.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

// The operator's cases of at most 4 MiB.
std::vector<Case> SmallCases(const Entry& entry) { return CasesWithin(4 << 20, entry.name()); }

// Returns whether the call writes to a workspace of that size, which is poisoned and lies between
// inaccessible pages. The outputs must be right.
bool UsesWorkspace(size_t workspace, PreparedCall& call, const Baseline& baseline,
                   mluOpHandle_t handle) {
  call.SetWorkspace(workspace);
  call.PoisonOutputs();
  EXPECT_EQ(call.Run(handle), MLUOP_STATUS_SUCCESS) << LastMessage();
  std::string details;
  EXPECT_EQ(baseline.Compare(call, &details), "") << details;
  const auto* bytes = static_cast<const unsigned char*>(call.arguments().workspace.data);
  return std::any_of(bytes, bytes + workspace, [](unsigned char b) { return b != 0xff; });
}

class WorkspaceSize : public ::testing::TestWithParam<Entry> {};
INSTANTIATE_TEST_SUITE_P(All, WorkspaceSize,
                         ::testing::ValuesIn(Filter(OperatorEntries(),
                                                    [](auto& e) {
                                                      return e.test->workspace_size != nullptr;
                                                    })),
                         EntryName);

// At the front the pointer is aligned: one byte less would suffice for the kernel, but is ignored.
TEST_P(WorkspaceSize, GetterSizeIsUsedAndOneByteLessIsNot) {
  const Handle handle;
  int used = 0;
  for (const Case& test_case : SmallCases(GetParam())) {
    SCOPED_TRACE(test_case.line);
    PreparedCall front(test_case, Placement::kFront);
    PreparedCall back(front, Placement::kBack);
    const Baseline baseline(front);
    const size_t wanted = front.WantedWorkspace(handle);
    if (wanted == 0) continue;
    for (PreparedCall* call : {&front, &back}) {
      const bool needed = UsesWorkspace(2 * wanted, *call, baseline, handle);
      EXPECT_EQ(UsesWorkspace(wanted, *call, baseline, handle), needed);
      EXPECT_FALSE(UsesWorkspace(wanted - 1, *call, baseline, handle));
      used += needed ? 1 : 0;
    }
  }
  EXPECT_GT(used, 0);
}

// The descriptors changed after the getter was called: the workspace is sized for another shape.
TEST_P(WorkspaceSize, SizeForAnotherShapeIsUsedOnlyIfLargeEnough) {
  const Handle handle;
  const std::vector<Case> cases = SmallCases(GetParam());
  size_t smaller = 0, larger = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& other = cases[(i + 1) % cases.size()];
    SCOPED_TRACE(cases[i].line + " after " + other.line);
    PreparedCall call(cases[i], Placement::kBack);
    const Baseline baseline(call);
    const size_t needed = call.WantedWorkspace(handle);
    const size_t given = PreparedCall(other, Placement::kBack).WantedWorkspace(handle);
    const bool used = UsesWorkspace(given, call, baseline, handle);
    EXPECT_FALSE(used && given < needed);
    smaller += given < needed;
    larger += given > needed;
  }
  EXPECT_GT(smaller, 0u);
  EXPECT_GT(larger, 0u);
}

// The inputs of a prepared call are read-only: a kernel that uses the workspace crashes.
class WorkspaceOverAnInput : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(
    All, WorkspaceOverAnInput,
    ::testing::Values(
        "psroipool_forward N=1 H=40 W=40 R=60 pooled_height=3 pooled_width=3 spatial_scale=0.25 "
        "group_size=3 output_dim=81",
        "roiaware_pool3d_forward pool_method=0 boxes_num=8 pts_num=9000 channels=40 "
        "max_pts_each_voxel=16 out_x=4 out_y=4 out_z=4",
        "masked_im2col_forward C=32 H=40 W=40 M=300 kernel_h=3 kernel_w=3 pad_h=1 pad_w=1",
        "masked_im2col_backward C=32 H=40 W=40 M=300 kernel_h=3 kernel_w=3 pad_h=1 pad_w=1",
        "masked_col2im_forward C=32 H=40 W=40 M=300"),
    [](const auto& row) { return std::string(ParseCase(row.param).op->spec.name); });

TEST_P(WorkspaceOverAnInput, IsIgnored) {
  const Case test_case = ParseCase(GetParam());
  PreparedCall call(test_case, Placement::kFront);
  const Baseline baseline(call);
  const Handle handle;
  const OpSpec& spec = *call.arguments().spec;
  for (int t = 0; t < spec.tensor_count; ++t) {
    if (spec.tensors[t].direction != kIn) continue;
    SCOPED_TRACE(std::string(spec.tensors[t].name));
    Arguments arguments = call.arguments();
    arguments.workspace = {arguments.tensors[t].data, arguments.tensors[t].ByteCount()};
    call.PoisonOutputs();
    ASSERT_EQ(test_case.test->call(handle, arguments), MLUOP_STATUS_SUCCESS);
    std::string details;
    EXPECT_EQ(baseline.Compare(call, &details), "") << details;
  }
}

}  // namespace
}  // namespace mluop::testing
