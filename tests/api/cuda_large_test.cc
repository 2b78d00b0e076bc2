// SPDX-License-Identifier: Apache-2.0
// Tensors of 2^31 elements and more on a CUDA device. Skipped if it has too little free memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/cuda_device_test.h"
#include "tests/support/device_floats.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

// psamask with H = W = side.
struct Masks {
  int64_t n, side, mask;
  int psa_type;

  int64_t pixels() const { return side * side; }
  int64_t cells() const { return mask * mask; }
  int64_t x_count() const { return n * pixels() * cells(); }
  int64_t y_count() const { return n * pixels() * pixels(); }
  Descriptor X() const { return {MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {n, side, side, cells()}}; }
  Descriptor Y() const { return {MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {n, side, side, pixels()}}; }

  // The index in x that element i of y is copied from; -1: it is zero.
  int64_t SourceOf(int64_t i) const {
    const int64_t image = i / (pixels() * pixels()), rest = i % (pixels() * pixels());
    const int64_t a = rest / pixels(), b = rest % pixels();
    const int64_t owner = psa_type == MLUOP_PSAMASK_COLLECT ? a : b, other = a + b - owner;
    const int64_t row = other / side - owner / side + (mask - 1) / 2;
    const int64_t column = other % side - owner % side + (mask - 1) / 2;
    if (row < 0 || row >= mask || column < 0 || column >= mask) return -1;
    return (image * pixels() + owner) * cells() + row * mask + column;
  }
  // Returns the number of elements that forward copies from x to y.
  int64_t Pairs() const {
    int64_t along = 0;  // one axis
    for (int64_t a = 0; a < side; ++a) {
      for (int64_t b = 0; b < side; ++b) {
        const int64_t place = b - a + (mask - 1) / 2;
        along += place >= 0 && place < mask;
      }
    }
    return n * along * along;
  }
};

class CudaLargePsamask : public CudaDeviceTest {
 protected:
  // Compares kSamples elements of y and the number of its zeros.
  static void CheckForward(const Masks& m, const DeviceFloats& y) {
    const int64_t step = std::max<int64_t>(m.y_count() / kSamples, 1);
    int64_t wrong = 0;
    y.ForEachSlice([&](int64_t first, const std::vector<float>& values) {
      const auto size = static_cast<int64_t>(values.size());
      for (int64_t i = (first + step - 1) / step * step; i < first + size; i += step) {
        const int64_t source = m.SourceOf(i);
        const float wanted = source < 0 ? 0.0f : DeviceFloats::Formula(source);
        wrong += values[static_cast<size_t>(i - first)] != wanted;
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(CountZeros(y), m.y_count() - m.Pairs());
  }

  // Requires dy = y: each element of dx is then the element of x, or zero.
  static void CheckBackward(const Masks& m, const DeviceFloats& dx) {
    const int64_t step = std::max<int64_t>(m.x_count() / kSamples, 1);
    int64_t wrong = 0;
    dx.ForEachSlice([&](int64_t first, const std::vector<float>& values) {
      const auto size = static_cast<int64_t>(values.size());
      for (int64_t i = (first + step - 1) / step * step; i < first + size; i += step) {
        const float value = values[static_cast<size_t>(i - first)];
        wrong += value != 0 && value != DeviceFloats::Formula(i);
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(CountZeros(dx), m.x_count() - m.Pairs());
  }

  static void Check(const Masks& m) {
    DeviceFloats x(m.x_count()), y(m.y_count());
    SKIP_WITHOUT(x);
    SKIP_WITHOUT(y);
    const Handle handle;
    const auto mask = static_cast<int>(m.mask);
    x.FillByFormula();
    y.Set(0xff);
    ASSERT_EQ(mluOpPsamaskForward(handle, m.psa_type, m.X(), x.data(), mask, mask, m.Y(), y.data()),
              MLUOP_STATUS_SUCCESS)
        << LastMessage();
    CheckForward(m, y);
    x.Set(0xff);
    ASSERT_EQ(
        mluOpPsamaskBackward(handle, m.psa_type, m.Y(), y.data(), mask, mask, m.X(), x.data()),
        MLUOP_STATUS_SUCCESS)
        << LastMessage();
    CheckBackward(m, x);
  }
};

// 13 GB of masks in 64 images.
TEST_F(CudaLargePsamask, CollectOf64Images) { Check({64, 60, 119, MLUOP_PSAMASK_COLLECT}); }
TEST_F(CudaLargePsamask, DistributeOf64Images) { Check({64, 60, 119, MLUOP_PSAMASK_DISTRIBUTE}); }

// One image has more than 2^31 elements.
TEST_F(CudaLargePsamask, CollectOfALargeImage) { Check({1, 216, 3, MLUOP_PSAMASK_COLLECT}); }
TEST_F(CudaLargePsamask, DistributeOfALargeImage) { Check({1, 216, 4, MLUOP_PSAMASK_DISTRIBUTE}); }

// kImages maps of 4 channels. All but the last are zero. Its results equal the results of a small call.
class CudaLargeMap : public CudaDeviceTest {
 protected:
  static constexpr int64_t kH = 512, kW = 1024, kChannels = 4, kImages = 1025;
  static constexpr int64_t kImage = kH * kW * kChannels, kLast = kImage * (kImages - 1);
  static_assert(kImage * kImages > kLimit);

  static Descriptor Map(int64_t n) {
    return {MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {n, kH, kW, kChannels}};
  }
  static std::vector<float> Image() {
    std::vector<float> image(kImage);
    for (int64_t i = 0; i < kImage; ++i) image[i] = static_cast<float>((i * 2654435761) % 1000);
    return image;
  }
  // Expects zeros in all images but the last, which must equal `wanted`.
  static void ExpectLastImage(const DeviceFloats& map, const std::vector<float>& wanted) {
    EXPECT_EQ(map.Read(kLast, kImage), wanted);
    const int64_t of_last = std::count(wanted.begin(), wanted.end(), 0.0f);
    EXPECT_EQ(CountZeros(map), kLast + of_last);
  }
};

TEST_F(CudaLargeMap, PsRoiPool) {
  DeviceFloats large(kImage * kImages), small(kImage), rois(10), pooled(8), channels(4);
  SKIP_WITHOUT(large);
  const Handle handle;
  const Descriptor roi(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 5});
  const Descriptor out(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 2, 2, 1});
  const Descriptor mapping(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {1, 2, 2, 1});
  const float values[] = {0, 3, 500, 1100, 520, kImages - 1, 3, 500, 1100, 520};
  rois.Write(0, values, 10);
  const std::vector<float> image = Image();
  large.Set(0);
  large.Write(kLast, image.data(), kImage);
  small.Write(0, image.data(), kImage);
  const auto forward = [&](int64_t n, const DeviceFloats& map, int which) {
    return mluOpPsRoiPoolForward(handle, 2, 2, 1.0f, 2, 1, Map(n), map.data(), roi,
                                 rois.data() + 5 * which, out, pooled.data() + 4 * which, mapping,
                                 channels.data());
  };
  const auto backward = [&](int64_t n, const DeviceFloats& map, int which) {
    return mluOpPsRoiPoolBackward(handle, 2, 2, 1.0f, 1, out, pooled.data(), roi,
                                  rois.data() + 5 * which, mapping, channels.data(), Map(n),
                                  map.data());
  };
  ASSERT_EQ(forward(1, small, 0), MLUOP_STATUS_SUCCESS) << LastMessage();
  ASSERT_EQ(forward(kImages, large, 1), MLUOP_STATUS_SUCCESS) << LastMessage();
  EXPECT_EQ(pooled.Read(0, 4), pooled.Read(4, 4));
  EXPECT_GT(pooled.Read(0, 1)[0], 0);
  ASSERT_EQ(backward(1, small, 0), MLUOP_STATUS_SUCCESS) << LastMessage();
  large.Set(0xff);
  ASSERT_EQ(backward(kImages, large, 1), MLUOP_STATUS_SUCCESS) << LastMessage();
  ExpectLastImage(large, small.Read(0, kImage));
}

TEST_F(CudaLargeMap, BorderAlign) {
  DeviceFloats large(kImage * kImages), small(kImage), boxes(kImages * 4), output(kImages * 4);
  DeviceFloats argmax(kImages * 4), small_output(4), small_argmax(4);
  SKIP_WITHOUT(large);
  const Handle handle;
  const auto results = [](int64_t n, mluOpDataType_t type) {
    return Descriptor(MLUOP_LAYOUT_NHWC, type, {n, 1, 4, 1});
  };
  const auto box_desc = [](int64_t n) {
    return Descriptor(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {n, 1, 4});
  };
  const float box[] = {3.5f, 500.25f, 1000.75f, 510.0f};
  for (int64_t n = 0; n < kImages; ++n) boxes.Write(n * 4, box, 4);
  const std::vector<float> image = Image();
  large.Set(0);
  large.Write(kLast, image.data(), kImage);
  small.Write(0, image.data(), kImage);
  const auto forward = [&](int64_t n, const DeviceFloats& map, DeviceFloats& out,
                           DeviceFloats& index) {
    return mluOpBorderAlignForward(handle, Map(n), map.data(), box_desc(n), boxes.data(), 10,
                                   results(n, MLUOP_DTYPE_FLOAT), out.data(),
                                   results(n, MLUOP_DTYPE_INT32), index.data());
  };
  const auto backward = [&](int64_t n, const DeviceFloats& map, DeviceFloats& out,
                            DeviceFloats& index) {
    return mluOpBorderAlignBackward(handle, results(n, MLUOP_DTYPE_FLOAT), out.data(), box_desc(n),
                                    boxes.data(), results(n, MLUOP_DTYPE_INT32), index.data(), 10,
                                    Map(n), map.data());
  };
  ASSERT_EQ(forward(1, small, small_output, small_argmax), MLUOP_STATUS_SUCCESS) << LastMessage();
  ASSERT_EQ(forward(kImages, large, output, argmax), MLUOP_STATUS_SUCCESS) << LastMessage();
  EXPECT_EQ(output.Read((kImages - 1) * 4, 4), small_output.Read(0, 4));
  EXPECT_EQ(CountZeros(output), (kImages - 1) * 4);
  ASSERT_EQ(backward(1, small, small_output, small_argmax), MLUOP_STATUS_SUCCESS) << LastMessage();
  large.Set(0xff);
  ASSERT_EQ(backward(kImages, large, output, argmax), MLUOP_STATUS_SUCCESS) << LastMessage();
  ExpectLastImage(large, small.Read(0, kImage));
}

}  // namespace
}  // namespace mluop::testing
