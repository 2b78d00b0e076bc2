// SPDX-License-Identifier: Apache-2.0
// Tensors of more than 4 GiB: all offsets are 64-bit. The test compares row by row, so it needs no
// second tensor of that size.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

constexpr int64_t kSide = 200;
constexpr int64_t kPixels = kSide * kSide;
constexpr int kMask = 3;
constexpr size_t kRowBytes = kPixels * sizeof(float);
constexpr size_t kBytes = kPixels * kRowBytes;  // 6.4 GB
constexpr size_t kRequiredMemory = size_t{10} << 30;
static_assert(kBytes > size_t{4} << 30);

size_t AvailableMemory() {
  FILE* file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return 0;
  char line[256];
  long long kilobytes = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "MemAvailable: %lld kB", &kilobytes) == 1) break;
  }
  std::fclose(file);
  return static_cast<size_t>(kilobytes) << 10;
}

// Memory whose pages are allocated on first touch.
class LazyMemory {
 public:
  explicit LazyMemory(size_t bytes = kBytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~LazyMemory() { munmap(data_, bytes_); }
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;
  bool ok() const { return data_ != MAP_FAILED; }
  float* data() const { return static_cast<float*>(data_); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

  // Poisons the rows that a 32-bit offset would miss. New pages are zero, like most of the result.
  void PoisonSomeRows() {
    for (const size_t place : {size_t{0}, size_t{1} << 31, size_t{1} << 32, kBytes - kRowBytes}) {
      const size_t begin = std::min(place, kBytes - 2 * kRowBytes);
      std::memset(static_cast<char*>(data_) + begin, 0xff, 2 * kRowBytes);
    }
  }

 private:
  size_t bytes_;
  void* data_;
};

// Writes the nonzero elements of row p of y to `row`, computed from the formula; or zeros in their
// positions. x[h,w,i,j] is its index + 1, which float represents exactly.
void SetRow(bool collect, int64_t p, bool zeros, std::vector<float>* row) {
  const int64_t a = p / kSide, b = p % kSide;
  for (int64_t da = -1; da <= 1; ++da) {
    for (int64_t db = -1; db <= 1; ++db) {
      const int64_t c = a + da, d = b + db;
      if (c < 0 || c >= kSide || d < 0 || d >= kSide) continue;
      // collect: (h,w) = (a,b) and (r,s) = (c,d); distribute: the other way round.
      const int64_t pixel = collect ? p : c * kSide + d;
      const int64_t i = collect ? da + 1 : 1 - da;  // r-h+1
      const int64_t j = collect ? db + 1 : 1 - db;  // s-w+1
      const int64_t value = pixel * kMask * kMask + i * kMask + j + 1;
      (*row)[c * kSide + d] = zeros ? 0.0f : static_cast<float>(value);
    }
  }
}

void CheckForward(int psa_type, LazyMemory* y) {
  y->PoisonSomeRows();
  const Handle handle;
  const Tensor x_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, kSide, kSide, kMask * kMask});
  const Tensor y_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, kSide, kSide, kPixels});
  float* x = x_desc.as<float>();
  for (int64_t i = 0; i < kPixels * kMask * kMask; ++i) x[i] = static_cast<float>(i + 1);
  ASSERT_EQ(mluOpPsamaskForward(handle, psa_type, x_desc, x, kMask, kMask, y_desc, y->data()),
            MLUOP_STATUS_SUCCESS)
      << LastMessage();
  std::vector<float> row(kPixels);
  const bool collect = psa_type == MLUOP_PSAMASK_COLLECT;
  for (int64_t p = 0; p < kPixels; ++p) {
    SetRow(collect, p, /*zeros=*/false, &row);
    // Bits are compared, not values. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    ASSERT_EQ(std::memcmp(row.data(), y->data() + p * kPixels, kRowBytes), 0) << "row " << p;
    SetRow(collect, p, /*zeros=*/true, &row);
  }
}

// Reads the y of CheckForward: backward returns the elements that forward copied, and zeros
// elsewhere.
void CheckBackward(int psa_type, const LazyMemory& dy) {
  const Handle handle;
  const Tensor dy_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, kSide, kSide, kPixels});
  const Tensor dx_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, kSide, kSide, kMask * kMask}, 255);
  ASSERT_EQ(mluOpPsamaskBackward(handle, psa_type, dy_desc, dy.data(), kMask, kMask, dx_desc,
                                 dx_desc.data()),
            MLUOP_STATUS_SUCCESS)
      << LastMessage();
  const float* dx = dx_desc.as<float>();
  for (int64_t index = 0; index < kPixels * kMask * kMask; ++index) {
    const int64_t pixel = index / (kMask * kMask), tap = index % (kMask * kMask);
    const int64_t r = pixel / kSide + tap / kMask - 1, s = pixel % kSide + tap % kMask - 1;
    const bool inside = r >= 0 && r < kSide && s >= 0 && s < kSide;
    ASSERT_EQ(dx[index], inside ? static_cast<float>(index + 1) : 0.0f) << "element " << index;
  }
}

// One test for all directions, because the page faults take half of its time.
TEST(LargeTensor, PsamaskWritesAndReadsMoreThan4GiB) {
  const size_t available = AvailableMemory();
  if (available < kRequiredMemory) {
    GTEST_SKIP() << "needs 10 GiB of available memory, there are " << (available >> 20) << " MiB";
  }
  LazyMemory y;
  ASSERT_TRUE(y.ok());
  for (const int psa_type : {MLUOP_PSAMASK_COLLECT, MLUOP_PSAMASK_DISTRIBUTE}) {
    CheckForward(psa_type, &y);
    CheckBackward(psa_type, y);
  }
}

// The largest dim of a tensor. Pages that are only read cost no memory.
constexpr int64_t kMaxElements = INT32_MAX;

TEST(LargeTensor, MaskedIm2colReadsTheLastOf2147483647Elements) {
  const LazyMemory feature(kMaxElements * sizeof(uint16_t));
  ASSERT_TRUE(feature.ok());
  const Handle handle;
  const Tensor feature_desc(MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_HALF, {1, 1, 1, kMaxElements});
  const Tensor mask_h(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {4});
  const Tensor mask_w(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {4});
  const Tensor col(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_HALF, {3, 4}, 255);
  const int32_t places[] = {0, 1 << 30, INT32_MAX - 1, INT32_MAX};
  std::memcpy(mask_w.data(), places, sizeof(places));
  feature.as<uint16_t>()[0] = 1;
  feature.as<uint16_t>()[1 << 30] = 2;
  feature.as<uint16_t>()[kMaxElements - 1] = 3;
  ASSERT_EQ(
      mluOpMaskedIm2colForward(handle, feature_desc, feature.as<void>(), mask_h, mask_h.data(),
                               mask_w, mask_w.data(), 1, 3, 0, 1, nullptr, 0, col, col.data()),
      MLUOP_STATUS_SUCCESS)
      << LastMessage();
  // One before the mask, the mask, one after it: zero outside.
  const uint16_t expected[] = {0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0};
  EXPECT_EQ(std::memcmp(col.data(), expected, sizeof(expected)), 0);
}

TEST(LargeTensor, PsRoiPoolReadsTheLastOf2147483647Elements) {
  const LazyMemory input(kMaxElements * sizeof(float));
  ASSERT_TRUE(input.ok());
  const Handle handle;
  const Tensor input_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 1, kMaxElements, 1});
  const Tensor rois(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 5});
  const Tensor output(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 1, 1, 1}, 255);
  const Tensor mapping(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {1, 1, 1, 1}, 255);
  // Neighbouring floats differ by 128 there. The bin is clipped at W: it has the last 127 pixels.
  constexpr int kPixelsOfBin = 127;
  const float roi[] = {0, 2147483520.0f, 0, 2147483648.0f, 0};
  std::memcpy(rois.data(), roi, sizeof(roi));
  for (int i = 1; i <= kPixelsOfBin; ++i) input.as<float>()[kMaxElements - i] = 1;
  input.as<float>()[kMaxElements - kPixelsOfBin - 1] = 1000;
  ASSERT_EQ(mluOpPsRoiPoolForward(handle, 1, 1, 1.0f, 1, 1, input_desc, input.as<void>(), rois,
                                  rois.data(), nullptr, 0, output, output.data(), mapping,
                                  mapping.data()),
            MLUOP_STATUS_SUCCESS)
      << LastMessage();
  EXPECT_EQ(*output.as<float>(), 1.0f);
  EXPECT_EQ(*mapping.as<int32_t>(), 0);
}

}  // namespace
}  // namespace mluop::testing
