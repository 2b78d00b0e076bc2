// SPDX-License-Identifier: Apache-2.0
// A C++11 program for MLU-OPS that knows nothing of mluops. It includes mlu_op.h inside extern "C",
// as some back ends do, before any other header, and wraps descriptors in classes.
extern "C" {
#include "mlu_op.h"
}

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#define MLUOP_CHECK(cond)                                                                  \
  do {                                                                                     \
    const mluOpStatus_t ret = (cond);                                                      \
    if (MLUOP_STATUS_SUCCESS != ret) {                                                     \
      std::cerr << __FILE__ << ":" << __LINE__ << " " << mluOpGetErrorString(ret) << "\n"; \
      std::exit(EXIT_FAILURE);                                                             \
    }                                                                                      \
  } while (0)

// Both forms have an address; the cast selects one.
using PsRoiPool14 = mluOpStatus_t (*)(mluOpHandle_t, const int, const int, const float, const int,
                                      const int, const mluOpTensorDescriptor_t, const void*,
                                      const mluOpTensorDescriptor_t, const void*,
                                      const mluOpTensorDescriptor_t, void*,
                                      const mluOpTensorDescriptor_t, void*);
using PsRoiPool16 = mluOpStatus_t(MLUOP_WIN_API*)(mluOpHandle_t, const int, const int, const float,
                                                  const int, const int,
                                                  const mluOpTensorDescriptor_t, const void*,
                                                  const mluOpTensorDescriptor_t, const void*, void*,
                                                  const size_t, const mluOpTensorDescriptor_t,
                                                  void*, const mluOpTensorDescriptor_t, void*);

static mluOpReduceMode_t ToReduceMode(const std::string& name) {
  static const std::map<std::string, mluOpReduceMode_t> modes = {
      {"sum", MLUOP_REDUCE_DSUM}, {"mean", MLUOP_REDUCE_DMEAN}, {"max", MLUOP_REDUCE_DMAX}};
  return modes.at(name);
}

class TensorDescriptor {
 public:
  TensorDescriptor(mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                   const std::vector<int>& dims) {
    MLUOP_CHECK(mluOpCreateTensorDescriptor(&desc_));
    MLUOP_CHECK(
        mluOpSetTensorDescriptor(desc_, layout, dtype, static_cast<int>(dims.size()), dims.data()));
  }
  TensorDescriptor(const TensorDescriptor&) = delete;
  TensorDescriptor& operator=(const TensorDescriptor&) = delete;
  ~TensorDescriptor() { mluOpDestroyTensorDescriptor(desc_); }
  mluOpTensorDescriptor_t desc() const { return desc_; }

 private:
  mluOpTensorDescriptor_t desc_ = nullptr;
};

static int PsRoiPool(mluOpHandle_t handle) {
  const TensorDescriptor input(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 1, 2, 1});
  const TensorDescriptor rois(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 5});
  const TensorDescriptor output(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 1, 1, 1});
  const TensorDescriptor mapping(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {1, 1, 1, 1});
  const float input_data[] = {1, 3}, rois_data[] = {0, 0, 0, 1, 0};
  float out[4] = {};
  int channel = -1;
  MLUOP_CHECK(mluOpPsRoiPoolForward(handle, 1, 1, 1.0f, 1, 1, input.desc(), input_data, rois.desc(),
                                    rois_data, output.desc(), &out[0], mapping.desc(), &channel));
  MLUOP_CHECK(mluOpPsRoiPoolForward(handle, 1, 1, 1.0f, 1, 1, input.desc(), input_data, rois.desc(),
                                    rois_data, nullptr, 0, output.desc(), &out[1], mapping.desc(),
                                    &channel));
  const auto forward14 = static_cast<PsRoiPool14>(mluOpPsRoiPoolForward);
  const auto forward16 = static_cast<PsRoiPool16>(mluOpPsRoiPoolForward);
  MLUOP_CHECK(forward14(handle, 1, 1, 1.0f, 1, 1, input.desc(), input_data, rois.desc(), rois_data,
                        output.desc(), &out[2], mapping.desc(), &channel));
  MLUOP_CHECK(forward16(handle, 1, 1, 1.0f, 1, 1, input.desc(), input_data, rois.desc(), rois_data,
                        nullptr, 0, output.desc(), &out[3], mapping.desc(), &channel));
  return out[0] == 2 && out[1] == 2 && out[2] == 2 && out[3] == 2 && channel == 0 ? 0 : 1;
}

// Calls roiaware_pool3d as mmcv does: NULL for rois or pts in the getter, argmax without a pointer.
static int RoiawarePool(mluOpHandle_t handle) {
  const TensorDescriptor rois(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 7});
  const TensorDescriptor pts(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 3});
  const TensorDescriptor feature(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 1});
  const TensorDescriptor no_points(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {0, 1});
  const TensorDescriptor argmax(MLUOP_LAYOUT_NDHWC, MLUOP_DTYPE_INT32, {1, 1, 1, 1, 1});
  const TensorDescriptor indices(MLUOP_LAYOUT_NDHWC, MLUOP_DTYPE_INT32, {1, 1, 1, 1, 2});
  const TensorDescriptor pooled(MLUOP_LAYOUT_NDHWC, MLUOP_DTYPE_FLOAT, {1, 1, 1, 1, 1});
  const float box[] = {0, 0, 0, 2, 2, 2, 0}, point[] = {0, 0, 1}, value[] = {9};
  int index[2] = {};
  float out = 0;
  size_t bytes = 0;
  MLUOP_CHECK(mluOpGetRoiAwarePool3dForwardWorkspaceSize(handle, nullptr, pts.desc(),
                                                         feature.desc(), &bytes));
  std::vector<char> workspace(bytes);
  MLUOP_CHECK(mluOpRoiAwarePool3dForward(handle, 1, 1, 1, 1, rois.desc(), box, pts.desc(), point,
                                         feature.desc(), value, workspace.data(), bytes, 2, 1, 1, 1,
                                         argmax.desc(), nullptr, indices.desc(), index,
                                         pooled.desc(), &out));
  MLUOP_CHECK(mluOpGetRoiAwarePool3dForwardWorkspaceSize(handle, rois.desc(), nullptr,
                                                         no_points.desc(), &bytes));
  return out == 9 && index[0] == 1 && bytes == 0 ? 0 : 1;
}

int main() {
  CNRT_CHECK(cnrtSetDevice(0));
  cnrtQueue_t queue = nullptr;
  CNRT_CHECK(cnrtQueueCreate(&queue));
  mluOpHandle_t handle = nullptr;
  MLUOP_CHECK(mluOpCreate(&handle));
  MLUOP_CHECK(mluOpSetQueue(handle, queue));
  const bool passed = ToReduceMode("max") == MLUOP_REDUCE_DMAX && PsRoiPool(handle) == 0 &&
                      RoiawarePool(handle) == 0;
  CNRT_CHECK(cnrtQueueSync(queue));
  MLUOP_CHECK(mluOpDestroy(handle));
  CNRT_CHECK(cnrtQueueDestroy(queue));
  return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
