// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d: tables and C entry points, in both spellings.
#include "core/operator.h"
#include "ops/roiaware_pool3d/problem.h"

namespace mluop::roiaware_pool3d {
namespace {

// Shapes with one row per voxel: pooled features, and point indices.
constexpr const char* kPerChannel = "boxes_num out_x out_y out_z channels";
constexpr const char* kPerSlot = "boxes_num out_x out_y out_z max_pts_each_voxel";

constexpr AbsentIf kAbsentForward = {"pool_method", kAverage, /*one_null_suffices=*/true};

constexpr Operator kForward = {
    OpSpec("roiaware_pool3d_forward", kHalfOrFloat,
           {InRange("pool_method", 0, 1), AtLeast("boxes_num", 1), AtLeast("pts_num", 1),
            AtLeast("channels", 1), AtLeast("max_pts_each_voxel", 1), AtLeast("out_x", 1),
            AtLeast("out_y", 1), AtLeast("out_z", 1)},
           {{"rois", kIn, kT, kAnyLayout, "boxes_num 7", kReject},
            {"pts", kIn, kT, kAnyLayout, "pts_num 3", kReject},
            {"pts_feature", kIn, kT, kAnyLayout, "pts_num channels", kReject},
            {"argmax", kOut, kI32, kAnyLayout, kPerChannel, kReject, kAbsentForward},
            {"pts_idx_of_voxels", kOut, kI32, kAnyLayout, kPerSlot, kReject},
            {"pooled_features", kOut, kT, kAnyLayout, kPerChannel, kReject}})
        .Limited(),
    "boxes_num"};

// As in MLU-OPS, the getter accepts NULL for rois and pts, and 0 points.
constexpr OpSpec kForwardWorkspace =
    OpSpec("roiaware_pool3d_forward_workspace", kHalfOrFloat, {},
           {{"rois", kIn, kT, kAnyLayout, "B 7", kReject, kMayBeNull},
            {"pts", kIn, kT, kAnyLayout, "P 3", kSkip, kMayBeNull},
            {"pts_feature", kIn, kT, kAnyLayout, "P C", kSkipRows}})
        .Limited();

constexpr Operator kBackward = {
    OpSpec("roiaware_pool3d_backward", kHalfOrFloat,
           {InRange("pool_method", 0, 1), AtLeast("boxes_num", 1), AtLeast("out_x", 1),
            AtLeast("out_y", 1), AtLeast("out_z", 1), AtLeast("channels", 1),
            AtLeast("max_pts_each_voxel", 1)},
           {{"pts_idx_of_voxels", kIn, kI32, kAnyLayout, kPerSlot, kReject},
            {"argmax", kIn, kI32, kAnyLayout, kPerChannel, kReject, {"pool_method", kAverage}},
            {"grad_out", kIn, kT, kAnyLayout, kPerChannel, kReject},
            {"grad_in", kOut, kT, kAnyLayout, "P channels", kReject}})
        .Limited()};

constexpr const Operator* kOperators[] = {&kForward, &kBackward};
constexpr const OpSpec* kGetters[] = {&kForwardWorkspace};

}  // namespace

extern constexpr Family kFamily = {"roiaware_pool3d", kOperators, kGetters};

}  // namespace mluop::roiaware_pool3d

using namespace mluop;

mluOpStatus_t mluOpGetRoiawarePool3dForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t rois_desc,
    const mluOpTensorDescriptor_t pts_desc, const mluOpTensorDescriptor_t pts_feature_desc,
    size_t* workspace_size) {
  return GetWorkspaceSize(
      handle, {roiaware_pool3d::kForwardWorkspace, {}, {rois_desc, pts_desc, pts_feature_desc}},
      workspace_size);
}

mluOpStatus_t mluOpRoiawarePool3dForward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int pts_num,
    const int channels, const mluOpTensorDescriptor_t rois_desc, const void* rois,
    const mluOpTensorDescriptor_t pts_desc, const void* pts,
    const mluOpTensorDescriptor_t pts_feature_desc, const void* pts_feature, void* workspace,
    size_t workspace_size, const int max_pts_each_voxel, const int out_x, const int out_y,
    const int out_z, const mluOpTensorDescriptor_t argmax_desc, void* argmax,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t pooled_features_desc, void* pooled_features) {
  return Execute(
      roiaware_pool3d::kForward, handle,
      {pool_method, boxes_num, pts_num, channels, max_pts_each_voxel, out_x, out_y, out_z},
      {{rois_desc, rois},
       {pts_desc, pts},
       {pts_feature_desc, pts_feature},
       {argmax_desc, argmax},
       {pts_idx_of_voxels_desc, pts_idx_of_voxels},
       {pooled_features_desc, pooled_features}},
      {workspace, workspace_size});
}

mluOpStatus_t mluOpRoiawarePool3dBackward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int out_x,
    const int out_y, const int out_z, const int channels, const int max_pts_each_voxel,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, const void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t argmax_desc, const void* argmax,
    const mluOpTensorDescriptor_t grad_out_desc, const void* grad_out,
    const mluOpTensorDescriptor_t grad_in_desc, void* grad_in) {
  return Execute(roiaware_pool3d::kBackward, handle,
                 {pool_method, boxes_num, out_x, out_y, out_z, channels, max_pts_each_voxel},
                 {{pts_idx_of_voxels_desc, pts_idx_of_voxels},
                  {argmax_desc, argmax},
                  {grad_out_desc, grad_out},
                  {grad_in_desc, grad_in}});
}

// The second spelling: the same functions.
#define MLUOP_ALIAS_OF(function) __attribute__((alias(#function)))
decltype(mluOpGetRoiawarePool3dForwardWorkspaceSize) mluOpGetRoiAwarePool3dForwardWorkspaceSize
    MLUOP_ALIAS_OF(mluOpGetRoiawarePool3dForwardWorkspaceSize);
decltype(mluOpRoiawarePool3dForward) mluOpRoiAwarePool3dForward
    MLUOP_ALIAS_OF(mluOpRoiawarePool3dForward);
decltype(mluOpRoiawarePool3dBackward) mluOpRoiAwarePool3dBackward
    MLUOP_ALIAS_OF(mluOpRoiawarePool3dBackward);
