// SPDX-License-Identifier: Apache-2.0
// Half and float: a band of 256 rows is transposed from left to right, one cache line of every row at
// a time. Tiles go through registers into a buffer in the L1, which is written row by row. The band's
// pages stay in the TLB, and each page of the output is looked up once per 256 elements. Without the
// buffer, the rows of an output whose stride is a power of two would map to one cache set (conflict
// misses). Double: squares of 8 x 8 elements, whose rows are cache lines.
#include "cpu/transpose.h"

#include <algorithm>

#include "cpu/plain_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/transpose.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lines-inl.h"
#include "cpu/simd-inl.h"
#include "cpu/square-inl.h"

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
namespace mluop::transpose_blocks {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void WriteRow(const float* from, int64_t n, bool stream, float* to) {
  mluop::HWY_NAMESPACE::LineWriter writer(to, stream);
  writer.Append(from, n);
  writer.Finish();
}
HWY_INLINE void WriteRow(const uint16_t* from, int64_t n, bool, uint16_t* to) {
  mluop::HWY_NAMESPACE::CopyRow(from, n, to);
}

// Whole tiles by vectors, the rest element by element. Halves take tiles of 8 x 8.
template <typename T>
HWY_INLINE void TransposeBlock(const Block<T>& block) {
  const hn::CappedTag<T, sizeof(T) == 2 ? 8 : 16> d;
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
      for (int64_t k = 0; k < kTile; ++k) v[k] = hn::LoadU(d, from + b + k * stride);
      mluop::HWY_NAMESPACE::TransposeSquare(d, v);
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

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mluop::transpose_blocks
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {
namespace transpose_blocks {
namespace {

HWY_EXPORT(TransposeFloat);
HWY_EXPORT(TransposeHalf);

template <typename T, class Kernel>
void ForEachBlock(ThreadPool& threads, const Matrices& m, const void* input, void* output,
                  Kernel kernel) {
  const T* const from = static_cast<const T*>(input);
  T* const to = static_cast<T*>(output);
  const int64_t rows = m.rows, columns = m.columns;
  const bool stream = m.bytes() >= kStreamBytes;
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

void TransposeDoubles(ThreadPool& threads, const Matrices& m, const uint64_t* from, uint64_t* to) {
  constexpr int64_t kSide = 8;
  const int64_t rows = m.rows, columns = m.columns;
  const int64_t down = (rows + kSide - 1) / kSide, across = (columns + kSide - 1) / kSide;
  const auto transpose = [&](int64_t matrix, int64_t first_a, int64_t first_b) {
    for (int64_t b = first_b; b < std::min(first_b + kSide, columns); ++b) {
      for (int64_t a = first_a; a < std::min(first_a + kSide, rows); ++a) {
        to[matrix + b * rows + a] = from[matrix + a * columns + b];
      }
    }
  };
  threads.ForEach(m.count * down * across, GrainFor(kSide * kSide), [&](int64_t square, int) {
    const int64_t row = square / across;
    transpose(row / down * rows * columns, row % down * kSide, square % across * kSide);
  });
}

void Run(ThreadPool& threads, const Matrices& m, const void* from, void* to) {
  if (m.element_bytes == sizeof(uint16_t)) {
    ForEachBlock<uint16_t>(threads, m, from, to, HWY_DYNAMIC_DISPATCH(TransposeHalf));
  } else if (m.element_bytes == sizeof(float)) {
    ForEachBlock<float>(threads, m, from, to, HWY_DYNAMIC_DISPATCH(TransposeFloat));
  } else {
    TransposeDoubles(threads, m, static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to));
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
