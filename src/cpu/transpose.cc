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

constexpr int64_t kRows = 256;  // of a band
template <typename T>
constexpr int64_t kColumns = 64 / sizeof(T);  // of a block: one cache line

// One block: from[a * from_stride + b] goes to to[b * to_stride + a], a < rows, b < columns.
template <typename T>
struct Block {
  const T* from;
  int64_t from_stride;
  T* to;
  int64_t to_stride;
  int64_t rows, columns;
  bool stream;  // writes the output with non-temporal stores
};

}  // namespace mluop::transpose_blocks
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::transpose_blocks::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void WriteRow(const float* from, int64_t n, bool stream, float* to) {
  mluop::HWY_NAMESPACE::LineWriter writer(to, stream);
  writer.Append(from, n);
  writer.Finish();
}
template <typename T>
HWY_INLINE void WriteRow(const T* from, int64_t n, bool, T* to) {
  mluop::HWY_NAMESPACE::CopyRow(from, n, to);
}

// Whole tiles by vectors, the rest element by element. Halves take tiles of 8 x 8, doubles of 2 x 2.
template <typename T>
HWY_INLINE void TransposeBlock(const Block<T>& block) {
  const hn::CappedTag<T, sizeof(T) == 4 ? 16 : 16 / sizeof(T)> d;
  constexpr auto kTile = static_cast<int64_t>(hn::MaxLanes(d));
  HWY_ALIGN T lines[kColumns<T> * kRows];
  const int64_t stride = block.from_stride;
  const int64_t tiled_rows = block.rows / kTile * kTile;
  const int64_t tiled_columns = block.columns / kTile * kTile;
  for (int64_t a = 0; a < tiled_rows; a += kTile) {
    const T* from = block.from + a * stride;
    // Prefetches the next block's lines: the hardware prefetcher tracks fewer streams.
    for (int64_t row = 0; row < kTile; ++row) hwy::Prefetch(from + row * stride + kColumns<T>);
    for (int64_t b = 0; b < tiled_columns; b += kTile) {
      hn::Vec<decltype(d)> v[kTile];
      mluop::HWY_NAMESPACE::LoadTransposed(d, from + b, stride, v);
      T* to = lines + b * kRows + a;
      for (int64_t k = 0; k < kTile; ++k) hn::Store(v[k], d, to + k * kRows);
    }
  }
  for (int64_t a = 0; a < block.rows; ++a) {
    const T* from = block.from + a * stride;
    for (int64_t b = a < tiled_rows ? tiled_columns : 0; b < block.columns; ++b) {
      lines[b * kRows + a] = from[b];
    }
  }
  for (int64_t b = 0; b < block.columns; ++b) {
    WriteRow(lines + b * kRows, block.rows, block.stream, block.to + b * block.to_stride);
  }
  if (block.stream) hwy::FlushStream();
}

void TransposeFloat(const Block<float>& block) { TransposeBlock(block); }
void TransposeHalf(const Block<uint16_t>& block) { TransposeBlock(block); }
void TransposeDouble(const Block<uint64_t>& block) { TransposeBlock(block); }

}  // namespace
}  // namespace mluop::transpose_blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {
namespace transpose_blocks {
namespace {

HWY_EXPORT(TransposeFloat);
HWY_EXPORT(TransposeHalf);
HWY_EXPORT(TransposeDouble);

template <typename T, class Kernel>
void ForEachBlock(ThreadPool& threads, const Matrices& m, const void* input, void* output,
                  Kernel kernel) {
  const T* const from = static_cast<const T*>(input);
  T* const to = static_cast<T*>(output);
  const int64_t rows = m.rows, columns = m.columns;
  const bool stream = ShouldStream(m.bytes());
  const int64_t bands = (rows + kRows - 1) / kRows;
  const int64_t blocks = (columns + kColumns<T> - 1) / kColumns<T>;
  const int64_t grain = kGrain * bands * blocks / (rows * columns) + 1;
  threads.ForEach(m.count * bands * blocks, grain, [&](int64_t item, int) {
    const int64_t b = item % blocks * kColumns<T>, a = item / blocks % bands * kRows;
    const int64_t matrix = item / blocks / bands * rows * columns;
    kernel({from + matrix + a * columns + b, columns, to + matrix + b * rows + a, rows,
            std::min(kRows, rows - a), std::min(kColumns<T>, columns - b), stream});
  });
}

void Run(ThreadPool& threads, const Matrices& m, const void* from, void* to) {
  if (m.element_bytes == sizeof(uint16_t)) {
    ForEachBlock<uint16_t>(threads, m, from, to, HWY_DYNAMIC_DISPATCH(TransposeHalf));
  } else if (m.element_bytes == sizeof(float)) {
    ForEachBlock<float>(threads, m, from, to, HWY_DYNAMIC_DISPATCH(TransposeFloat));
  } else {
    ForEachBlock<uint64_t>(threads, m, from, to, HWY_DYNAMIC_DISPATCH(TransposeDouble));
  }
}

}  // namespace
}  // namespace transpose_blocks

mluOpStatus_t Transpose(CpuContext& context, const Matrices& m, const void* from, void* to) {
  transpose_blocks::Run(context.threads(), m, from, to);
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop
#endif  // HWY_ONCE
