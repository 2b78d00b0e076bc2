// SPDX-License-Identifier: Apache-2.0
// 2^31 elements and more in one row, image or result on a CUDA device: psroipool and border_align
// backward, masked_im2col. Skipped if it has too little free memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/cuda_device_test.h"
#include "tests/support/device_floats.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

// One RoI covers the last pixels of a map with one channel. The gradient of all other pixels is 0.
class CudaLargePsRoiPoolBackward : public CudaDeviceTest {
 protected:
  static void Check(int64_t n, int64_t h, int64_t w, const std::vector<float>& roi_values,
                    int64_t covered) {
    DeviceFloats map(n * h * w), rois(5), grad(1), channel(1);
    SKIP_WITHOUT(map);
    const Handle handle;
    const Descriptor roi(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 5});
    const Descriptor top(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 1, 1, 1});
    const Descriptor mapping(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {1, 1, 1, 1});
    const Descriptor bottom(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {n, h, w, 1});
    const auto one = static_cast<float>(covered);  // each covered pixel gets 1
    rois.Write(0, roi_values.data(), 5);
    grad.Write(0, &one, 1);
    channel.Set(0);
    map.Set(0xff);
    ASSERT_EQ(mluOpPsRoiPoolBackward(handle, 1, 1, 1.0f, 1, top, grad.data(), roi, rois.data(),
                                     mapping, channel.data(), bottom, map.data()),
              MLUOP_STATUS_SUCCESS)
        << LastMessage();
    EXPECT_EQ(CountZeros(map), map.count() - covered);
    EXPECT_EQ(map.Read(map.count() - covered, covered), std::vector<float>(covered, 1.0f));
  }
};

// All images together have 2^31 rows.
TEST_F(CudaLargePsRoiPoolBackward, ManyRows) {
  Check(1 << 16, 1 << 15, 1, {65535, 0, 32764, 0, 32767}, 4);
}
// One image has 2^31 pixels.
TEST_F(CudaLargePsRoiPoolBackward, LargeImage) {
  Check(1, 1 << 16, 1 << 15, {0, 32764, 65535, 32767, 65535}, 4);
}

// The gradients of a box of one pixel, (x, y): sample 0 of each border is that pixel.
class CudaLargeBorderAlignBackward : public CudaDeviceTest {
 protected:
  // `k` boxes, all at the same pixel of a map [1, h, w, 4c].
  static void Check(int64_t h, int64_t w, int64_t c, int64_t k, float x, float y) {
    const int64_t results = k * 4 * c;
    DeviceFloats map(h * w * 4 * c), boxes(k * 4), grad(results), argmax(results);
    SKIP_WITHOUT(map);
    SKIP_WITHOUT(grad);
    SKIP_WITHOUT(argmax);
    const Handle handle;
    const Descriptor out(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, k, 4, c});
    const Descriptor index(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {1, k, 4, c});
    const Descriptor box_desc(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, k, 4});
    const Descriptor map_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, h, w, 4 * c});
    for (int64_t i = 0; i < k; ++i) {
      const float box[] = {x, y, x, y};
      boxes.Write(i * 4, box, 4);
    }
    grad.FillByFormula();
    argmax.Set(0);
    map.Set(0xff);
    ASSERT_EQ(mluOpBorderAlignBackward(handle, out, grad.data(), box_desc, boxes.data(), index,
                                       argmax.data(), 2, map_desc, map.data()),
              MLUOP_STATUS_SUCCESS)
        << LastMessage();
    const int64_t pixel = static_cast<int64_t>(y) * w + static_cast<int64_t>(x);
    const std::vector<float> sums = map.Read(pixel * 4 * c, 4 * c);
    const int64_t step = std::max<int64_t>(4 * c / kSamples, 1);
    int64_t wrong = 0;
    for (int64_t i = 0; i < 4 * c; i += step) {
      float wanted = 0;
      for (int64_t box = 0; box < k; ++box) wanted += DeviceFloats::Formula(box * 4 * c + i);
      wrong += sums[static_cast<size_t>(i)] != wanted;
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(CountZeros(map), map.count() - 4 * c);
  }
};

TEST_F(CudaLargeBorderAlignBackward, LargeRow) { Check(2, 2048, 1 << 18, 1, 2046, 1); }
TEST_F(CudaLargeBorderAlignBackward, LargeResults) { Check(2, 4, 1 << 25, 16, 2, 1); }

class CudaLargeMaskedIm2col : public CudaDeviceTest {};

// Forward: the kernel of mask m is pixel m, so data_col equals feature.
TEST_F(CudaLargeMaskedIm2col, CopiesEveryPixel) {
  constexpr int64_t kC = 2050, kH = 1024, kW = 1024, kMasks = kH * kW;
  DeviceFloats feature(kC * kMasks), col(kC * kMasks), rows(kMasks), columns(kMasks);
  static_assert(kC * kMasks > kLimit);
  SKIP_WITHOUT(feature);
  SKIP_WITHOUT(col);
  std::vector<int32_t> h(kMasks), w(kMasks);
  for (int64_t m = 0; m < kMasks; ++m) {
    h[m] = static_cast<int32_t>(m / kW);
    w[m] = static_cast<int32_t>(m % kW);
  }
  rows.Write(0, h.data(), kMasks);
  columns.Write(0, w.data(), kMasks);
  feature.FillByFormula();
  col.Set(0xff);
  const Handle handle;
  const Descriptor map(MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, {1, kC, kH, kW});
  const Descriptor index(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {kMasks});
  const Descriptor matrix(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {kC, kMasks});
  ASSERT_EQ(mluOpMaskedIm2colForward(handle, map, feature.data(), index, rows.data(), index,
                                     columns.data(), 1, 1, 0, 0, nullptr, 0, matrix, col.data()),
            MLUOP_STATUS_SUCCESS)
      << LastMessage();
  constexpr int64_t kStep = kC * kMasks / kSamples;
  int64_t wrong = 0;
  col.ForEachSlice([&](int64_t first, const std::vector<float>& values) {
    const auto size = static_cast<int64_t>(values.size());
    for (int64_t i = (first + kStep - 1) / kStep * kStep; i < first + size; i += kStep) {
      wrong += values[static_cast<size_t>(i - first)] != DeviceFloats::Formula(i);
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(CountZeros(col), 0);
}

}  // namespace
}  // namespace mluop::testing
