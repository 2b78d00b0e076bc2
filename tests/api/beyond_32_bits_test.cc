// SPDX-License-Identifier: Apache-2.0
// Tensors of 2^31 elements and more in little memory: inputs that are mostly zero pages, and outputs
// whose pages repeat (tests/support/aliased_memory.h). Each result is compared with that of a small
// call on the same data.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/support/aliased_memory.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;

void ExpectSuccess(mluOpStatus_t status) {
  ASSERT_EQ(status, MLUOP_STATUS_SUCCESS) << LastMessage();
}

bool AreEqual(const float* a, const float* b, size_t bytes) {
  // Bits are compared, not values. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
  return std::memcmp(a, b, bytes) == 0;
}
bool AreZero(const float* values, size_t bytes) {
  return AreEqual(values, std::vector<float>(bytes / sizeof(float)).data(), bytes);
}

Descriptor NhwcOf(const std::vector<int64_t>& dims) {
  return Descriptor(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, dims);
}
Descriptor NchwOf(const std::vector<int64_t>& dims) {
  return Descriptor(MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, dims);
}

// psamask: image n of both tensors equals image n % kPeriod.
class Beyond32BitsPsamask : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int64_t kH = 8, kW = 12, kMaskH = 9, kMaskW = 11;
  static constexpr int64_t kPixels = kH * kW, kX = kPixels * kMaskH * kMaskW;
  static constexpr int64_t kY = kPixels * kPixels;
  static constexpr int64_t kPeriod = 32, kImages = 234001;
  static_assert(kX * kImages > kLimit && kY * kImages > kLimit);

  static size_t Bytes(int64_t images, int64_t elements) {
    return static_cast<size_t>(images * elements) * sizeof(float);
  }
  static Descriptor X(int64_t n) { return NhwcOf({n, kH, kW, kMaskH * kMaskW}); }
  static Descriptor Y(int64_t n) { return NhwcOf({n, kH, kW, kPixels}); }
  mluOpStatus_t Forward(int64_t n, const float* x, float* y) {
    return mluOpPsamaskForward(handle_, GetParam(), X(n), x, kMaskH, kMaskW, Y(n), y);
  }
  mluOpStatus_t Backward(int64_t n, const float* dy, float* dx) {
    return mluOpPsamaskBackward(handle_, GetParam(), Y(n), dy, kMaskH, kMaskW, X(n), dx);
  }
  static void ExpectRepeats(const AliasedMemory& memory, const std::vector<float>& period) {
    EXPECT_TRUE(AreEqual(memory.first(), period.data(), memory.period()));
    EXPECT_TRUE(AreEqual(memory.tail(), period.data(), memory.tail_bytes()));
  }

  const Handle handle_;
};
INSTANTIATE_TEST_SUITE_P(All, Beyond32BitsPsamask,
                         ::testing::Values(MLUOP_PSAMASK_COLLECT, MLUOP_PSAMASK_DISTRIBUTE));

TEST_P(Beyond32BitsPsamask, ForwardAndBackward) {
  AliasedMemory x(Bytes(kImages, kX), Bytes(kPeriod, kX));
  AliasedMemory y(Bytes(kImages, kY), Bytes(kPeriod, kY));
  ASSERT_TRUE(x.ok() && y.ok());
  std::vector<float> in(kPeriod * kX), out(kPeriod * kY), back(kPeriod * kX);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i + 1);
  std::memcpy(x.first(), in.data(), x.period());
  std::memcpy(x.tail(), in.data(), x.tail_bytes());
  ExpectSuccess(Forward(kPeriod, in.data(), out.data()));
  ExpectSuccess(Backward(kPeriod, out.data(), back.data()));
  y.Fill(0xff);
  ExpectSuccess(Forward(kImages, x.data(), y.data()));
  ExpectRepeats(y, out);
  x.Fill(0xff);
  ExpectSuccess(Backward(kImages, y.data(), x.data()));
  ExpectRepeats(x, back);
}

// kImages maps of kH x kW pixels and 4 channels. Only the last one is not zero.
constexpr int64_t kH = 512, kW = 1024, kChannels = 4, kImages = 1025;
constexpr int64_t kImage = kH * kW * kChannels;
constexpr size_t kImageBytes = kImage * sizeof(float);
static_assert(kImage * kImages > kLimit);

// A map whose last image is filled, and that image alone.
class Beyond32Bits : public ::testing::Test {
 protected:
  Beyond32Bits() : map_(kImages * kImageBytes, kImageBytes) {}
  void SetUp() override {
    ASSERT_TRUE(map_.ok());
    for (int64_t i = 0; i < kImage; ++i) last()[i] = static_cast<float>((i * 2654435761) % 1000);
  }
  float* last() const { return map_.tail(); }
  // Call before backward: its result must be zero in all images but the last.
  void Poison() { map_.Fill(0xff); }
  void ExpectLastImage(const std::vector<float>& wanted) const {
    EXPECT_TRUE(AreZero(map_.first(), kImageBytes));
    EXPECT_TRUE(AreEqual(last(), wanted.data(), kImageBytes));
  }

  const Handle handle_;
  AliasedMemory map_;
};

TEST_F(Beyond32Bits, PsRoiPool) {
  const Descriptor rois = Array({1, 5}), large = NhwcOf({kImages, kH, kW, kChannels});
  const Descriptor small = NhwcOf({1, kH, kW, kChannels}), pooled = NhwcOf({1, 2, 2, 1});
  const Descriptor mapping(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {1, 2, 2, 1});
  const auto forward = [&](const Descriptor& map, const float* data, const float* roi, float* out,
                           int32_t* channels) {
    return mluOpPsRoiPoolForward(handle_, 2, 2, 1.0f, 2, 1, map, data, rois, roi, pooled, out,
                                 mapping, channels);
  };
  const float of_last[] = {kImages - 1, 3, 500, 1100, 520}, of_first[] = {0, 3, 500, 1100, 520};
  float out[4] = {}, wanted[4] = {};
  int32_t channels[4] = {};
  ExpectSuccess(forward(large, map_.data(), of_last, out, channels));
  ExpectSuccess(forward(small, last(), of_first, wanted, channels));
  EXPECT_GT(wanted[3], 0);
  EXPECT_TRUE(AreEqual(out, wanted, sizeof(out)));
  const auto backward = [&](const Descriptor& map, float* data, const float* roi) {
    return mluOpPsRoiPoolBackward(handle_, 2, 2, 1.0f, 1, pooled, wanted, rois, roi, mapping,
                                  channels, map, data);
  };
  std::vector<float> gradient(kImage);
  ExpectSuccess(backward(small, gradient.data(), of_first));
  Poison();
  ExpectSuccess(backward(large, map_.data(), of_last));
  ExpectLastImage(gradient);
}

TEST_F(Beyond32Bits, BorderAlign) {
  const Descriptor large = NhwcOf({kImages, kH, kW, kChannels});
  const Descriptor small = NhwcOf({1, kH, kW, kChannels});
  const Tensor boxes = Array({kImages, 1, 4});
  const Tensor output = Nhwc({kImages, 1, 4, 1});
  const Tensor argmax(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {kImages, 1, 4, 1});
  const Descriptor small_boxes(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 1, 4});
  const Descriptor small_output = NhwcOf({1, 1, 4, 1});
  const Descriptor small_argmax(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {1, 1, 4, 1});
  const float box[] = {3.5f, 500.25f, 1000.75f, 510.0f};
  for (int64_t n = 0; n < kImages; ++n) std::memcpy(boxes.as<float>() + n * 4, box, sizeof(box));
  float wanted[4] = {};
  int32_t index[4] = {};
  ExpectSuccess(mluOpBorderAlignForward(handle_, small, last(), small_boxes, box, 10, small_output,
                                        wanted, small_argmax, index));
  ExpectSuccess(mluOpBorderAlignForward(handle_, large, map_.data(), boxes, boxes.data(), 10,
                                        output, output.data(), argmax, argmax.data()));
  EXPECT_GT(wanted[0], 0);
  EXPECT_TRUE(AreEqual(output.as<float>() + (kImages - 1) * 4, wanted, sizeof(wanted)));
  EXPECT_EQ(std::memcmp(argmax.as<int32_t>() + (kImages - 1) * 4, index, sizeof(index)), 0);
  // The other images are zero, and so are their results: the gradients of backward.
  EXPECT_TRUE(AreZero(output.as<float>(), (kImages - 1) * sizeof(wanted)));
  std::vector<float> gradient(kImage);
  ExpectSuccess(mluOpBorderAlignBackward(handle_, small_output, wanted, small_boxes, box,
                                         small_argmax, index, 10, small, gradient.data()));
  Poison();
  ExpectSuccess(mluOpBorderAlignBackward(handle_, output, output.data(), boxes, boxes.data(),
                                         argmax, argmax.data(), 10, large, map_.data()));
  ExpectLastImage(gradient);
}

// Here an image is a channel of 1024 x 2048 pixels.
TEST_F(Beyond32Bits, MaskedIm2colAndCol2im) {
  constexpr int64_t kRows = 1024, kColumns = 2048, kMasks = 3;
  static_assert(kRows * kColumns == kImage);
  const Descriptor large = NchwOf({1, kImages, kRows, kColumns});
  const Descriptor small = NchwOf({1, 1, kRows, kColumns});
  const Tensor mask(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {kMasks});
  const int32_t rows[] = {0, 1023, 511}, columns[] = {2047, 2047, 3};
  const Tensor col = Array({kImages, kMasks});
  const Descriptor small_col(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, kMasks});
  float wanted[kMasks] = {};
  ExpectSuccess(mluOpMaskedIm2colForward(handle_, small, last(), mask, rows, mask, columns, 1, 1, 0,
                                         0, nullptr, 0, small_col, wanted));
  ExpectSuccess(mluOpMaskedIm2colForward(handle_, large, map_.data(), mask, rows, mask, columns, 1,
                                         1, 0, 0, nullptr, 0, col, col.data()));
  EXPECT_GT(wanted[1], 0);
  EXPECT_TRUE(AreZero(col.as<float>(), (kImages - 1) * sizeof(wanted)));
  EXPECT_TRUE(AreEqual(col.as<float>() + (kImages - 1) * kMasks, wanted, sizeof(wanted)));
  std::vector<float> image(kImage);
  for (int64_t m = 0; m < kMasks; ++m) image[rows[m] * kColumns + columns[m]] = wanted[m];
  Poison();
  ExpectSuccess(mluOpMaskedIm2colBackward(handle_, col, col.data(), mask, rows, mask, columns, 1, 1,
                                          0, 0, nullptr, 0, large, map_.data()));
  ExpectLastImage(image);
  Poison();
  ExpectSuccess(mluOpMaskedCol2imForward(handle_, col, col.data(), mask, rows, mask, columns, 0,
                                         nullptr, large, map_.data()));
  ExpectLastImage(image);
}

// data_col has 2^31 elements and more: all rows are the same, as the feature is constant.
TEST(Beyond32BitsColumns, MaskedIm2colForward) {
  constexpr int64_t kMasks = int64_t{1} << 20, kCount = 229, kRows = kCount * 9;
  static_assert(kRows * kMasks > kLimit);
  constexpr size_t kRowBytes = kMasks * sizeof(float);
  AliasedMemory col(kRows * kRowBytes, kRowBytes);
  ASSERT_TRUE(col.ok());
  col.Fill(0xff);
  const Handle handle;
  const Tensor feature = Nchw({1, kCount, 40, 50});
  const Tensor mask(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {kMasks});
  const Tensor mask_w(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {kMasks});
  for (int64_t i = 0; i < kCount * 40 * 50; ++i) feature.as<float>()[i] = 1.5f;
  std::vector<float> row(kMasks);
  for (int64_t m = 0; m < kMasks; ++m) {
    const bool inside = m % 7 != 0;
    mask.as<int32_t>()[m] = inside ? static_cast<int32_t>(1 + m % 38) : -100;
    mask_w.as<int32_t>()[m] = static_cast<int32_t>(1 + m % 48);
    row[m] = inside ? 1.5f : 0.0f;
  }
  const Descriptor data_col(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {kRows, kMasks});
  ExpectSuccess(mluOpMaskedIm2colForward(handle, feature, feature.data(), mask, mask.data(), mask_w,
                                         mask_w.data(), 3, 3, 1, 1, nullptr, 0, data_col,
                                         col.data()));
  EXPECT_TRUE(AreEqual(col.first(), row.data(), kRowBytes));
  EXPECT_TRUE(AreEqual(col.tail(), row.data(), kRowBytes));
}

}  // namespace
}  // namespace mluop::testing
