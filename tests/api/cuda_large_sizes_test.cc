// SPDX-License-Identifier: Apache-2.0
// 2^31 elements and more in one row, image or result on a CUDA device: psroipool and border_align
// backward, masked_im2col, masked_conv2d. Skipped if it has too little free memory.
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

class CudaLargeMaskedIm2col : public CudaDeviceTest {
 protected:
  static Descriptor Indices(int64_t masks) {
    return {MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {masks}};
  }
  // Compares kSamples elements with wanted(i), and requires that none is zero.
  template <class Wanted>
  static void Expect(const DeviceFloats& tensor, const Wanted& wanted) {
    const int64_t step = tensor.count() / kSamples;
    int64_t wrong = 0, zeros = 0;
    tensor.ForEachSlice([&](int64_t first, const std::vector<float>& values) {
      const auto size = static_cast<int64_t>(values.size());
      for (int64_t i = (first + step - 1) / step * step; i < first + size; i += step) {
        wrong += values[static_cast<size_t>(i - first)] != wanted(i);
      }
      zeros += std::count(values.begin(), values.end(), 0.0f);
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(zeros, 0);
  }
};

// Mask m is pixel m and the kernel is 1x1: feature, data_col and both gradients are equal.
TEST_F(CudaLargeMaskedIm2col, CopiesEveryPixelThereAndBack) {
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
  const Descriptor index = Indices(kMasks);
  const Descriptor matrix(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {kC, kMasks});
  ASSERT_EQ(mluOpMaskedIm2colForward(handle, map, feature.data(), index, rows.data(), index,
                                     columns.data(), 1, 1, 0, 0, nullptr, 0, matrix, col.data()),
            MLUOP_STATUS_SUCCESS)
      << LastMessage();
  Expect(col, DeviceFloats::Formula);
  feature.Set(0xff);
  ASSERT_EQ(mluOpMaskedIm2colBackward(handle, matrix, col.data(), index, rows.data(), index,
                                      columns.data(), 1, 1, 0, 0, nullptr, 0, map, feature.data()),
            MLUOP_STATUS_SUCCESS)
      << LastMessage();
  Expect(feature, DeviceFloats::Formula);
  feature.Set(0xff);
  ASSERT_EQ(mluOpMaskedCol2imForward(handle, matrix, col.data(), index, rows.data(), index,
                                     columns.data(), 0, nullptr, map, feature.data()),
            MLUOP_STATUS_SUCCESS)
      << LastMessage();
  Expect(feature, DeviceFloats::Formula);
}

// Small planes and many masks: data_col alone has 2^31 elements.
TEST_F(CudaLargeMaskedIm2col, ManyMasksOfSmallPlanes) {
  constexpr int64_t kC = 229, kH = 40, kW = 50, kMasks = int64_t{1} << 20, kRows = kC * 9;
  DeviceFloats feature(kC * kH * kW), col(kRows * kMasks), rows(kMasks), columns(kMasks);
  static_assert(kRows * kMasks > kLimit);
  SKIP_WITHOUT(col);
  std::vector<int32_t> h(kMasks), w(kMasks);
  for (int64_t m = 0; m < kMasks; ++m) {
    h[m] = static_cast<int32_t>(1 + m % (kH - 2));
    w[m] = static_cast<int32_t>(1 + m % (kW - 2));
  }
  rows.Write(0, h.data(), kMasks);
  columns.Write(0, w.data(), kMasks);
  feature.FillByFormula();
  col.Set(0xff);
  const Handle handle;
  const Descriptor map(MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, {1, kC, kH, kW});
  const Descriptor matrix(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {kRows, kMasks});
  const Descriptor index = Indices(kMasks);
  ASSERT_EQ(mluOpMaskedIm2colForward(handle, map, feature.data(), index, rows.data(), index,
                                     columns.data(), 3, 3, 1, 1, nullptr, 0, matrix, col.data()),
            MLUOP_STATUS_SUCCESS)
      << LastMessage();
  Expect(col, [&](int64_t i) {
    const int64_t row = i / kMasks, m = i % kMasks;
    const int64_t y = h[static_cast<size_t>(m)] - 1 + row % 9 / 3;
    const int64_t x = w[static_cast<size_t>(m)] - 1 + row % 3;
    return DeviceFloats::Formula((row / 9 * kH + y) * kW + x);
  });
}

// 1x1 kernels: the implementation "direct" computes tensors of 2^31 elements and more.
class CudaLargeMaskedConv2d : public CudaDeviceTest {
 protected:
  static Descriptor Nchw(int64_t n, int64_t c, int64_t h, int64_t w) {
    return {MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, {n, c, h, w}};
  }
  static Descriptor Array(const std::vector<int64_t>& dims) {
    return {MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, dims};
  }
};

// The weight is the identity, so the output is every kStride-th pixel of each channel.
TEST_F(CudaLargeMaskedConv2d, LargeFeatures) {
  constexpr int64_t kN = 2, kC = 3, kH = 1 << 14, kW = 1 << 15, kStride = 1021;
  constexpr int64_t kP = kH / kStride + 1, kQ = kW / kStride + 1;
  static_assert(kN * kC * kH * kW > kLimit);
  DeviceFloats features(kN * kC * kH * kW), mask(kN * kP * kQ), weight(kC * kC), bias(kC);
  DeviceFloats output(kN * kC * kP * kQ);
  SKIP_WITHOUT(features);
  features.FillByFormula();
  mask.FillByFormula();  // positive
  const float identity[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  weight.Write(0, identity, kC * kC);
  bias.Set(0);
  output.Set(0xff);
  const Handle handle;
  ASSERT_EQ(mluOpMaskedConv2dForward(handle, 1, 1, kStride, kStride, 0, 0, 1, 1,
                                     Nchw(kN, kC, kH, kW), features.data(), Array({kN, kP, kQ}),
                                     mask.data(), Nchw(kC, kC, 1, 1), weight.data(), Array({kC}),
                                     bias.data(), Nchw(kN, kC, kP, kQ), output.data()),
            MLUOP_STATUS_SUCCESS)
      << LastMessage();
  const std::vector<float> values = output.Read(0, output.count());
  int64_t wrong = 0;
  for (int64_t i = 0; i < output.count(); ++i) {
    const int64_t plane = i / (kP * kQ), p = i / kQ % kP, q = i % kQ;
    const float wanted = DeviceFloats::Formula((plane * kH + p * kStride) * kW + q * kStride);
    wrong += values[static_cast<size_t>(i)] != wanted;
  }
  EXPECT_EQ(wrong, 0);
}

// Every second position is masked and has the value of its output's bias.
TEST_F(CudaLargeMaskedConv2d, LargeOutput) {
  constexpr int64_t kO = (1 << 16) + 3, kPositions = 1 << 15;
  static_assert(kO * kPositions > kLimit);
  DeviceFloats features(1), mask(kPositions), weight(kO), bias(kO), output(kO * kPositions);
  SKIP_WITHOUT(output);
  std::vector<float> masked(kPositions);
  for (size_t i = 0; i < masked.size(); ++i) masked[i] = static_cast<float>(i % 2);
  mask.Write(0, masked.data(), kPositions);
  features.Set(0);
  weight.Set(0);
  bias.FillByFormula();
  output.Set(0xff);
  const Handle handle;
  ASSERT_EQ(mluOpMaskedConv2dForward(handle, 1, 1, 1, 1, 0, 0, 1, 1, Nchw(1, 1, 1, 1),
                                     features.data(), Array({1, 1, kPositions}), mask.data(),
                                     Nchw(kO, 1, 1, 1), weight.data(), Array({kO}), bias.data(),
                                     Nchw(1, kO, 1, kPositions), output.data()),
            MLUOP_STATUS_SUCCESS)
      << LastMessage();
  int64_t wrong = 0;
  output.ForEachSlice([&](int64_t first, const std::vector<float>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t at = first + static_cast<int64_t>(i);
      wrong += values[i] != (at % 2 == 1 ? DeviceFloats::Formula(at / kPositions) : 0.0f);
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace mluop::testing
