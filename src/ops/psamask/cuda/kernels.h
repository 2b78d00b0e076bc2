// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices: the geometry of mapping.h in 32 bits, and the kernels' entries.
// Every tensor has fewer than 2^31 elements, so that an element's index, and what is added up on
// the way to one, is exact in uint32_t.
#pragma once

#include <cstdint>

#include "cuda/context.h"
#include "ops/psamask/mapping.h"

namespace mluop::psamask {

inline constexpr int kThreads = 256;  // of a block
inline constexpr int kWarp = 32;
inline constexpr int kWarps = kThreads / kWarp;
inline constexpr int kSector = 8;  // elements that device memory writes together
// Blocks on a processor. Registers are left for all of a thread's loads to be on their way at once:
// without the bound the compiler waits for the first ones to make do with fewer.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800  // 1024 threads a processor
inline constexpr int kBlocks = 4;
#else
inline constexpr int kBlocks = 6;
#endif

// n / divisor for n < 2^31, as a multiplication: the kernels divide by sizes of the call.
class Divider {
 public:
  Divider() = default;
  explicit Divider(int64_t divisor) : divisor_(static_cast<uint32_t>(divisor)) {
    while ((uint64_t{1} << shift_) < divisor_) ++shift_;
    factor_ = static_cast<uint32_t>((uint64_t{1} << (31 + shift_)) / divisor_ + 1);
  }

  struct Result {
    int quotient, remainder;
  };
  // factor_ * divisor_ exceeds 2^(31+shift_) by 2^shift_ at most: times n, by less than
  // 2^(31+shift_), so that the quotient n * factor_ >> (31 + shift_) is exact.
  MLUOP_HOST_DEVICE Result operator()(int n) const {
    const uint32_t quotient = High(2 * static_cast<uint32_t>(n), factor_) >> shift_;
    return {static_cast<int>(quotient), n - static_cast<int>(quotient * divisor_)};
  }
  MLUOP_HOST_DEVICE int divisor() const { return static_cast<int>(divisor_); }

 private:
  static MLUOP_HOST_DEVICE uint32_t High(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
    return __umulhi(a, b);
#else
    return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
#endif
  }

  uint32_t divisor_ = 1, factor_ = 0, shift_ = 0;
};

// What of mapping.h's Mapping the kernels need.
struct Shape {
  int pixels;
  Divider by_height, by_width;
  int in_rows, in_cols, out_rows, out_cols;
  int half_h, half_w, sign;

  MLUOP_HOST_DEVICE int RowShift(int h) const { return ShiftOf(sign, half_h, h); }
  MLUOP_HOST_DEVICE int ColShift(int w) const { return ShiftOf(sign, half_w, w); }
  MLUOP_HOST_DEVICE bool HasInRow(int row) const {
    return static_cast<uint32_t>(row) < static_cast<uint32_t>(in_rows);
  }
  MLUOP_HOST_DEVICE bool HasInCol(int col) const {
    return static_cast<uint32_t>(col) < static_cast<uint32_t>(in_cols);
  }
  MLUOP_HOST_DEVICE uint32_t in_size() const { return static_cast<uint32_t>(in_rows) * in_cols; }
  MLUOP_HOST_DEVICE uint32_t out_size() const { return static_cast<uint32_t>(out_rows) * out_cols; }
};

// Elements as bits: they are copied and never looked at.
struct CudaTensors {
  const uint32_t* in;
  uint32_t* out;
};

// By pixels to by pixels.
void CopyRunsCuda(const Mapping& m, const CudaTensors& tensors, CudaContext& context);
// By places to by pixels, where the input's rows are no longer than the output's.
bool FitsTurned(const Mapping& m);
void CopyTurnedCuda(const Mapping& m, const CudaTensors& tensors, CudaContext& context);
// All others.
void CopyTilesCuda(const Mapping& m, const CudaTensors& tensors, const Storage& storage,
                   CudaContext& context);

inline Shape ShapeOf(const Mapping& m) {
  const auto number = [](int64_t n) { return static_cast<int>(n); };
  return {number(m.pixels()), Divider(m.h),       Divider(m.w),       number(m.in.rows),
          number(m.in.cols),  number(m.out.rows), number(m.out.cols), number(m.half_h),
          number(m.half_w),   number(m.sign)};
}

// The element's place in memory, in elements: tensors are aligned to their elements alone.
inline uint32_t ElementAddress(const void* pointer) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pointer) / sizeof(uint32_t));
}

}  // namespace mluop::psamask
