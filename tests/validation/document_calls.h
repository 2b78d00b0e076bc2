// SPDX-License-Identifier: Apache-2.0
// Valid calls of every public operator and getter, written out by hand from the documents and
// independent of the tables. A test changes one thing and calls.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/tensors.h"

namespace mluop::testing {

constexpr mluOpDataType_t kInt32 = MLUOP_DTYPE_INT32;
constexpr mluOpDataType_t kHalf = MLUOP_DTYPE_HALF;

enum class Layout { kAny, kNhwc, kNchw };

// What the documents and the contract say about a tensor of a call.
struct Row {
  const char* name;
  Tensor* tensor;
  Layout layout;
  std::string free_dims = {};  // "12": dims 1 and 2 depend on nothing
  bool is_output = false;
};

// What every call has: a handle, and the arguments that a test passes as NULL.
struct DocumentCall {
  Handle own_handle;
  std::set<std::string> null;         // "handle", "input_desc", "input", ...
  std::map<std::string, void*> data;  // pointers other than the tensors' own
  std::vector<char> workspace_memory = std::vector<char>(4096);
  void* workspace = workspace_memory.data();
  size_t workspace_size = 0;
  size_t size = 77;  // what a getter writes

  mluOpHandle_t H() const { return null.count("handle") != 0 ? nullptr : own_handle.get(); }
  mluOpTensorDescriptor_t D(const char* name, const Tensor& tensor) const {
    return null.count(std::string(name) + "_desc") != 0 ? nullptr : tensor.desc();
  }
  void* P(const char* name, const Tensor& tensor) const {
    const auto other = data.find(name);
    if (other != data.end()) return other->second;
    return null.count(name) != 0 ? nullptr : tensor.data();
  }
  size_t* Size() { return null.count("workspace_size") != 0 ? nullptr : &size; }
};

// Document 000 3.6 (2), with the channels that its own rule asks for.
struct PsRoiPoolForward : DocumentCall {
  int pooled_height = 3, pooled_width = 3, group_size = 3, output_dim = 21;
  float spatial_scale = 0.0625f;
  Tensor input = Nhwc({2, 14, 14, 189}), rois = Array({493, 5}), output = Nhwc({493, 3, 3, 21}),
         mapping = Nhwc({493, 3, 3, 21}, kInt32);
  static constexpr bool kTakesHalf = false;
  std::vector<Row> Rows() {
    return {{"input", &input, Layout::kNhwc, "012"},
            {"rois", &rois, Layout::kAny},
            {"output", &output, Layout::kNhwc, "", true},
            {"mapping_channel", &mapping, Layout::kNhwc, "", true}};
  }
  mluOpStatus_t Call() {
    return mluOpPsRoiPoolForward(H(), pooled_height, pooled_width, spatial_scale, group_size,
                                 output_dim, D("input", input), P("input", input), D("rois", rois),
                                 P("rois", rois), workspace, workspace_size, D("output", output),
                                 P("output", output), D("mapping_channel", mapping),
                                 P("mapping_channel", mapping));
  }
  // Today's form in MLU-OPS, without a workspace.
  mluOpStatus_t CallShortForm() {
    return mluOpPsRoiPoolForward(H(), pooled_height, pooled_width, spatial_scale, group_size,
                                 output_dim, D("input", input), P("input", input), D("rois", rois),
                                 P("rois", rois), D("output", output), P("output", output),
                                 D("mapping_channel", mapping), P("mapping_channel", mapping));
  }
  mluOpStatus_t CallGetter() {
    return mluOpGetPsRoiPoolForwardWorkspaceSize(H(), pooled_height, pooled_width, output_dim,
                                                 D("input", input), D("rois", rois), Size());
  }
};

struct PsRoiPoolBackward : DocumentCall {
  int pooled_height = 3, pooled_width = 3, output_dim = 21;
  float spatial_scale = 0.0625f;
  Tensor top_grad = Nhwc({493, 3, 3, 21}), rois = Array({493, 5}),
         mapping = Nhwc({493, 3, 3, 21}, kInt32), bottom_grad = Nhwc({2, 14, 14, 189});
  static constexpr bool kTakesHalf = false;
  std::vector<Row> Rows() {
    return {{"top_grad", &top_grad, Layout::kNhwc},
            {"rois", &rois, Layout::kAny},
            {"mapping_channel", &mapping, Layout::kNhwc},
            {"bottom_grad", &bottom_grad, Layout::kNhwc, "012", true}};
  }
  mluOpStatus_t Call() {
    return mluOpPsRoiPoolBackward(H(), pooled_height, pooled_width, spatial_scale, output_dim,
                                  D("top_grad", top_grad), P("top_grad", top_grad), D("rois", rois),
                                  P("rois", rois), D("mapping_channel", mapping),
                                  P("mapping_channel", mapping), D("bottom_grad", bottom_grad),
                                  P("bottom_grad", bottom_grad));
  }
};

// Document 001 3.7, the first random case.
struct BorderAlignForward : DocumentCall {
  int32_t pool_size = 8;
  Tensor input = Nhwc({3, 10, 10, 4}), boxes = Array({3, 5, 4}), output = Nhwc({3, 5, 4, 1}),
         argmax_idx = Nhwc({3, 5, 4, 1}, kInt32);
  static constexpr bool kTakesHalf = true;
  std::vector<Row> Rows() {
    return {{"input", &input, Layout::kNhwc, "12"},
            {"boxes", &boxes, Layout::kAny},
            {"output", &output, Layout::kNhwc, "", true},
            {"argmax_idx", &argmax_idx, Layout::kNhwc, "", true}};
  }
  mluOpStatus_t Call() {
    return mluOpBorderAlignForward(H(), D("input", input), P("input", input), D("boxes", boxes),
                                   P("boxes", boxes), pool_size, D("output", output),
                                   P("output", output), D("argmax_idx", argmax_idx),
                                   P("argmax_idx", argmax_idx));
  }
};

struct BorderAlignBackward : DocumentCall {
  int32_t pool_size = 8;
  Tensor grad_output = Nhwc({3, 5, 4, 1}), boxes = Array({3, 5, 4}),
         argmax_idx = Nhwc({3, 5, 4, 1}, kInt32), grad_input = Nhwc({3, 10, 10, 4});
  static constexpr bool kTakesHalf = true;
  std::vector<Row> Rows() {
    return {{"grad_output", &grad_output, Layout::kNhwc},
            {"boxes", &boxes, Layout::kAny},
            {"argmax_idx", &argmax_idx, Layout::kNhwc},
            {"grad_input", &grad_input, Layout::kNhwc, "12", true}};
  }
  mluOpStatus_t Call() {
    return mluOpBorderAlignBackward(
        H(), D("grad_output", grad_output), P("grad_output", grad_output), D("boxes", boxes),
        P("boxes", boxes), D("argmax_idx", argmax_idx), P("argmax_idx", argmax_idx), pool_size,
        D("grad_input", grad_input), P("grad_input", grad_input));
  }
};

// Document 002 3.6, made small: 2 boxes of 3x4x5 voxels with 7 slots, 6 channels, 11 points.
struct RoiawareForward : DocumentCall {
  int pool_method = 0, boxes_num = 2, pts_num = 11, channels = 6, max_pts = 7, out_x = 3, out_y = 4,
      out_z = 5;
  Tensor rois = Array({2, 7}), pts = Array({11, 3}), pts_feature = Array({11, 6}),
         argmax = Array({2, 3, 4, 5, 6}, kInt32), pts_idx = Array({2, 3, 4, 5, 7}, kInt32),
         pooled = Array({2, 3, 4, 5, 6});
  static constexpr bool kTakesHalf = true;
  std::vector<Row> Rows() {
    return {{"rois", &rois, Layout::kAny},
            {"pts", &pts, Layout::kAny},
            {"pts_feature", &pts_feature, Layout::kAny},
            {"argmax", &argmax, Layout::kAny, "", true},
            {"pts_idx_of_voxels", &pts_idx, Layout::kAny, "", true},
            {"pooled_features", &pooled, Layout::kAny, "", true}};
  }
  template <typename Function>
  mluOpStatus_t CallAs(Function function) {
    return function(H(), pool_method, boxes_num, pts_num, channels, D("rois", rois),
                    P("rois", rois), D("pts", pts), P("pts", pts), D("pts_feature", pts_feature),
                    P("pts_feature", pts_feature), workspace, workspace_size, max_pts, out_x, out_y,
                    out_z, D("argmax", argmax), P("argmax", argmax),
                    D("pts_idx_of_voxels", pts_idx), P("pts_idx_of_voxels", pts_idx),
                    D("pooled_features", pooled), P("pooled_features", pooled));
  }
  mluOpStatus_t Call() { return CallAs(mluOpRoiawarePool3dForward); }
  mluOpStatus_t CallOtherSpelling() { return CallAs(mluOpRoiAwarePool3dForward); }
  template <typename Function>
  mluOpStatus_t CallGetterAs(Function function) {
    return function(H(), D("rois", rois), D("pts", pts), D("pts_feature", pts_feature), Size());
  }
  mluOpStatus_t CallGetter() { return CallGetterAs(mluOpGetRoiawarePool3dForwardWorkspaceSize); }
  mluOpStatus_t CallOtherGetter() {
    return CallGetterAs(mluOpGetRoiAwarePool3dForwardWorkspaceSize);
  }
};

struct RoiawareBackward : DocumentCall {
  int pool_method = 0, boxes_num = 2, channels = 6, max_pts = 7, out_x = 3, out_y = 4, out_z = 5;
  Tensor pts_idx = Array({2, 3, 4, 5, 7}, kInt32), argmax = Array({2, 3, 4, 5, 6}, kInt32),
         grad_out = Array({2, 3, 4, 5, 6}), grad_in = Array({11, 6});
  static constexpr bool kTakesHalf = true;
  std::vector<Row> Rows() {
    return {{"pts_idx_of_voxels", &pts_idx, Layout::kAny},
            {"argmax", &argmax, Layout::kAny},
            {"grad_out", &grad_out, Layout::kAny},
            {"grad_in", &grad_in, Layout::kAny, "0", true}};
  }
  template <typename Function>
  mluOpStatus_t CallAs(Function function) {
    return function(H(), pool_method, boxes_num, out_x, out_y, out_z, channels, max_pts,
                    D("pts_idx_of_voxels", pts_idx), P("pts_idx_of_voxels", pts_idx),
                    D("argmax", argmax), P("argmax", argmax), D("grad_out", grad_out),
                    P("grad_out", grad_out), D("grad_in", grad_in), P("grad_in", grad_in));
  }
  mluOpStatus_t Call() { return CallAs(mluOpRoiawarePool3dBackward); }
  mluOpStatus_t CallOtherSpelling() { return CallAs(mluOpRoiAwarePool3dBackward); }
};

// Document 003: a 4x5 feature under a 3x7 mask.
struct PsamaskForward : DocumentCall {
  int psa_type = 0, h_mask = 3, w_mask = 7;
  Tensor x = Nhwc({2, 4, 5, 21}), y = Nhwc({2, 4, 5, 20});
  static constexpr bool kTakesHalf = false;
  std::vector<Row> Rows() { return {{"x", &x, Layout::kNhwc}, {"y", &y, Layout::kNhwc, "", true}}; }
  mluOpStatus_t Call() {
    return mluOpPsamaskForward(H(), psa_type, D("x", x), P("x", x), h_mask, w_mask, D("y", y),
                               P("y", y));
  }
};

struct PsamaskBackward : DocumentCall {
  int psa_type = 0, h_mask = 3, w_mask = 7;
  Tensor dy = Nhwc({2, 4, 5, 20}), dx = Nhwc({2, 4, 5, 21});
  static constexpr bool kTakesHalf = false;
  std::vector<Row> Rows() {
    return {{"dy", &dy, Layout::kNhwc}, {"dx", &dx, Layout::kNhwc, "", true}};
  }
  mluOpStatus_t Call() {
    return mluOpPsamaskBackward(H(), psa_type, D("dy", dy), P("dy", dy), h_mask, w_mask,
                                D("dx", dx), P("dx", dx));
  }
};

// Document 004 3.6 case 1.
struct MaskedIm2colForward : DocumentCall {
  int kernel_h = 3, kernel_w = 3, pad_h = 1, pad_w = 1;
  Tensor feature = Nchw({1, 256, 20, 20}), mask_h = Array({200}, kInt32),
         mask_w = Array({200}, kInt32), data_col = Array({2304, 200});
  static constexpr bool kTakesHalf = true;
  std::vector<Row> Rows() {
    return {{"feature", &feature, Layout::kNchw, "23"},
            {"mask_h_idx", &mask_h, Layout::kAny},
            {"mask_w_idx", &mask_w, Layout::kAny},
            {"data_col", &data_col, Layout::kAny, "", true}};
  }
  mluOpStatus_t Call() {
    return mluOpMaskedIm2colForward(H(), D("feature", feature), P("feature", feature),
                                    D("mask_h_idx", mask_h), P("mask_h_idx", mask_h),
                                    D("mask_w_idx", mask_w), P("mask_w_idx", mask_w), kernel_h,
                                    kernel_w, pad_h, pad_w, workspace, workspace_size,
                                    D("data_col", data_col), P("data_col", data_col));
  }
  mluOpStatus_t CallGetter() {
    return mluOpGetMaskedIm2colForwardWorkspaceSize(
        H(), D("feature", feature), D("mask_h_idx", mask_h), D("mask_w_idx", mask_w), kernel_h,
        kernel_w, D("data_col", data_col), Size());
  }
};

struct MaskedIm2colBackward : DocumentCall {
  int kernel_h = 3, kernel_w = 3, pad_h = 1, pad_w = 1;
  Tensor grad_col = Array({36, 30}), mask_h = Array({30}, kInt32), mask_w = Array({30}, kInt32),
         grad_feature = Nchw({1, 4, 5, 6});
  static constexpr bool kTakesHalf = true;
  std::vector<Row> Rows() {
    return {{"grad_col", &grad_col, Layout::kAny},
            {"mask_h_idx", &mask_h, Layout::kAny},
            {"mask_w_idx", &mask_w, Layout::kAny},
            {"grad_feature", &grad_feature, Layout::kNchw, "23", true}};
  }
  mluOpStatus_t Call() {
    return mluOpMaskedIm2colBackward(
        H(), D("grad_col", grad_col), P("grad_col", grad_col), D("mask_h_idx", mask_h),
        P("mask_h_idx", mask_h), D("mask_w_idx", mask_w), P("mask_w_idx", mask_w), kernel_h,
        kernel_w, pad_h, pad_w, workspace, workspace_size, D("grad_feature", grad_feature),
        P("grad_feature", grad_feature));
  }
};

struct MaskedCol2im : DocumentCall {
  Tensor col = Array({4, 30}), mask_h = Array({30}, kInt32), mask_w = Array({30}, kInt32),
         im = Nchw({1, 4, 5, 6});
  static constexpr bool kTakesHalf = true;
  std::vector<Row> Rows() {
    return {{"col", &col, Layout::kAny},
            {"mask_h_idx", &mask_h, Layout::kAny},
            {"mask_w_idx", &mask_w, Layout::kAny},
            {"im", &im, Layout::kNchw, "23", true}};
  }
  mluOpStatus_t Call() {
    return mluOpMaskedCol2imForward(H(), D("col", col), P("col", col), D("mask_h_idx", mask_h),
                                    P("mask_h_idx", mask_h), D("mask_w_idx", mask_w),
                                    P("mask_w_idx", mask_w), workspace_size, workspace, D("im", im),
                                    P("im", im));
  }
  mluOpStatus_t CallGetter() {
    return mluOpGetMaskedCol2imForwardWorkspaceSize(H(), D("col", col), D("mask_h_idx", mask_h),
                                                    D("mask_w_idx", mask_w), D("im", im), Size());
  }
};

}  // namespace mluop::testing
