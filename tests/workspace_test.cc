// SPDX-License-Identifier: Apache-2.0
// A workspace over an input is left alone (docs/decisions/0006). The inputs of a prepared call
// cannot be written: a kernel that used the workspace would die here.
#include <gtest/gtest.h>

#include <string>

#include "mlu_op.h"
#include "testing/prepared_call.h"

namespace mluop::testing {
namespace {

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
        "masked_col2im_forward C=32 H=40 W=40 M=300"));

TEST_P(WorkspaceOverAnInput, IsNotUsed) {
  const Case test_case = ParseCase(GetParam());
  PreparedCall call(test_case, Placement::kFront);
  const Baseline baseline(call);
  mluOpHandle_t handle = nullptr;
  ASSERT_EQ(mluOpCreate(&handle), MLUOP_STATUS_SUCCESS);
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
  mluOpDestroy(handle);
}

}  // namespace
}  // namespace mluop::testing
