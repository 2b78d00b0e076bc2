// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices: the geometry of problem.h in 32 bits, and the implementations' functions.
// A launch computes a batch of images with fewer than 2^31 elements in all, so that indices and
// their intermediate sums are exact in uint32_t.
#pragma once

#include <cstdint>

#include "cuda/context.h"
#include "ops/psamask/cuda/tuning.h"
#include "ops/psamask/problem.h"

namespace mluop::psamask {

using PsamaskCall = CudaCall<Problem>;

inline constexpr int kWarp = 32;
inline constexpr int kWarps = kThreads / kWarp;
inline constexpr int kSector = 8;  // elements of a sector, which device memory writes as a unit

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
  // factor_ * divisor_ exceeds 2^(31+shift_) by at most 2^shift_. For n < 2^31 the excess of the
  // product with n is below 2^(31+shift_), so the quotient n * factor_ >> (31 + shift_) is exact.
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

// The part of Problem that the kernels need.
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

inline Shape ShapeOf(const Problem& p) {
  const auto number = [](int64_t n) { return static_cast<int>(n); };
  return {number(p.pixels()), Divider(p.h),       Divider(p.w),       number(p.in.rows),
          number(p.in.cols),  number(p.out.rows), number(p.out.cols), number(p.half_h),
          number(p.half_w),   number(p.sign)};
}

// The tensors as bits: elements are copied and never interpreted. `lead` is the output's address in
// elements, which gives the kernels its offset in a sector.
struct CudaTensors {
  const uint32_t* in;
  uint32_t* out;
  uint32_t lead;
};

inline CudaTensors TensorsOf(const PsamaskCall& call) {
  const auto& tensors = call.arguments.tensors;
  const auto address = reinterpret_cast<uintptr_t>(tensors[1].data);
  return {static_cast<const uint32_t*>(tensors[0].data), static_cast<uint32_t*>(tensors[1].data),
          static_cast<uint32_t>(address / sizeof(uint32_t))};
}

// Pixel-major to pixel-major.
mluOpStatus_t CopyRows(const PsamaskCall& call, void* scratch);

// Any order but pixel-major to pixel-major.
mluOpStatus_t CopyTiles(const PsamaskCall& call, void* scratch);

}  // namespace mluop::psamask
