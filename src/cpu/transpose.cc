// SPDX-License-Identifier: Apache-2.0
// A band of 256 rows is transposed from left to right, one cache line of every row at a time. Tiles
// go through registers into a buffer in the L1, which is written row by row. The band's pages stay
// in the TLB, and each page of the output is looked up once per 256 elements. Without the buffer,
// the rows of an output whose stride is a power of two would map to one cache set (conflict misses).
#include "cpu/transpose.h"

#include <algorithm>

#include "cpu/tuning.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/transpose.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lines-inl.h"
#include "cpu/simd-inl.h"
#include "cpu/transpose-inl.h"

#ifndef MLUOP_TRANSPOSE_BLOCK_
#define MLUOP_TRANSPOSE_BLOCK_
namespace mluop::transpose_blocks {

constexpr int64_t kRows = 256;      // of a band
constexpr int64_t kLineBytes = 64;  // of a row of a block

// The blocks of a matrix.
struct Grid {
  int64_t bands, columns;

  explicit Grid(const Matrices& m)
      : bands((m.rows + kRows - 1) / kRows),
        columns((m.columns * static_cast<int64_t>(m.element_bytes) + kLineBytes - 1) / kLineBytes) {
  }
};

}  // namespace mluop::transpose_blocks
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::transpose_blocks::HWY_NAMESPACE {
namespace {

namespace simd = mluop::HWY_NAMESPACE;

HWY_INLINE void WriteRow(const float* from, int64_t n, bool stream, float* to) {
  simd::LineWriter writer(to, stream);
  writer.Append(from, n);
  writer.Finish();
}
template <typename T>
HWY_INLINE void WriteRow(const T* from, int64_t n, bool, T* to) {
  simd::CopyRow(from, n, to);
}

template <typename T>
HWY_INLINE void TransposeOf(const Matrices& m, const void* input, void* output, int64_t block,
                            bool stream) {
  constexpr int64_t kColumns = kLineBytes / sizeof(T);
  HWY_ALIGN T lines[kColumns * kRows];
  const Grid grid(m);
  const int64_t b = block % grid.columns * kColumns, a = block / grid.columns % grid.bands * kRows;
  const int64_t rows = std::min(kRows, m.rows - a), columns = std::min(kColumns, m.columns - b);
  const int64_t matrix = block / grid.columns / grid.bands * m.rows * m.columns;
  const T* const from = static_cast<const T*>(input) + matrix + a * m.columns + b;
  T* const to = static_cast<T*>(output) + matrix + b * m.rows + a;
  // Prefetches the next block's lines: the hardware prefetcher tracks fewer streams.
  simd::Transpose<T>({from, m.columns, kColumns}, rows, columns, {lines, kRows});
  for (int64_t k = 0; k < columns; ++k) WriteRow(lines + k * kRows, rows, stream, to + k * m.rows);
  if (stream) hwy::FlushStream();
}

void TransposeBlock(const Matrices& m, const void* from, void* to, int64_t block, bool stream) {
  switch (m.element_bytes) {
    case 2: return TransposeOf<uint16_t>(m, from, to, block, stream);
    case 4: return TransposeOf<float>(m, from, to, block, stream);
    default: return TransposeOf<uint64_t>(m, from, to, block, stream);
  }
}

}  // namespace
}  // namespace mluop::transpose_blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {
namespace transpose_blocks {

HWY_EXPORT(TransposeBlock);

}  // namespace transpose_blocks

mluOpStatus_t Transpose(CpuContext& context, const Matrices& m, const void* from, void* to) {
  using namespace transpose_blocks;
  const auto kernel = HWY_DYNAMIC_DISPATCH(TransposeBlock);
  const Grid grid(m);
  const bool stream = ShouldStream(m.bytes());
  const int64_t blocks = grid.bands * grid.columns;
  context.threads().ForEach(m.count * blocks, kGrain * blocks / (m.rows * m.columns) + 1,
                            [&](int64_t block, int) { kernel(m, from, to, block, stream); });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop
#endif  // HWY_ONCE
