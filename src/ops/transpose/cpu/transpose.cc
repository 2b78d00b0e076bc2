// SPDX-License-Identifier: Apache-2.0
// A strip of 256 rows is transposed from left to right, a cache line of every row at a time, in tiles
// into a buffer in the L1 that leaves it row by row. The pages of the strip's rows stay at hand, and
// the pages of the output, which are other ones for every row, are each found once for 256 elements.
// Without the buffer the rows of an output whose stride is a power of two would fight for one set
// of the cache.
#include "cpu/tuning.h"
#include "ops/transpose/cpu/operators.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/transpose/cpu/transpose.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lines-inl.h"
#include "cpu/simd-inl.h"
#include "cpu/transpose-inl.h"

#ifndef MLUOP_TRANSPOSE_BLOCK_
#define MLUOP_TRANSPOSE_BLOCK_
namespace mluop::transpose {

constexpr int64_t kRows = 256;  // of a strip
template <typename T>
constexpr int64_t kColumns = 64 / sizeof(T);  // of a block: a cache line

// One block: from[a*from_stride + b] goes to to[b*to_stride + a], a < rows, b < columns.
template <typename T>
struct Block {
  const T* from;
  int64_t from_stride;
  T* to;
  int64_t to_stride;
  int64_t rows, columns;
  bool stream;  // the output passes by the caches
};

}  // namespace mluop::transpose
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::transpose {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::CopyRow;
using mluop::HWY_NAMESPACE::kSquare;
using mluop::HWY_NAMESPACE::LineWriter;

constexpr int64_t TileOf(const float*) { return kSquare; }
constexpr int64_t TileOf(const uint16_t*) { return 8; }

HWY_INLINE void TransposeTile(const float* from, int64_t from_stride, float* to,
                              int64_t to_stride) {
  mluop::HWY_NAMESPACE::TransposeTile<kSquare>({from, from_stride}, {to, to_stride});
}

HWY_INLINE void WriteRow(const float* from, int64_t n, bool stream, float* to) {
  LineWriter writer(to, stream);
  writer.Append(from, n);
  writer.Finish();
}
HWY_INLINE void WriteRow(const uint16_t* from, int64_t n, bool, uint16_t* to) {
  CopyRow(from, n, to);
}

HWY_INLINE void TransposeTile(const uint16_t* from, int64_t from_stride, uint16_t* to,
                              int64_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) to[b * to_stride + a] = from[a * from_stride + b];
  }
#else
  const hn::FixedTag<uint16_t, 8> d;
  const hn::FixedTag<uint32_t, 4> pairs;
  const hn::FixedTag<uint64_t, 2> quads;
  // After a step, vectors hold elements of twice as many rows, and of half as many columns.
  const auto load = [&](int64_t a) { return hn::LoadU(d, from + a * from_stride); };
  const auto low2 = [&](auto x, auto y) {
    return hn::BitCast(pairs, hn::InterleaveLower(d, x, y));
  };
  const auto high2 = [&](auto x, auto y) {
    return hn::BitCast(pairs, hn::InterleaveUpper(d, x, y));
  };
  const auto in0 = load(0), in1 = load(1), in2 = load(2), in3 = load(3);
  const auto in4 = load(4), in5 = load(5), in6 = load(6), in7 = load(7);
  const auto low01 = low2(in0, in1), low23 = low2(in2, in3);
  const auto low45 = low2(in4, in5), low67 = low2(in6, in7);
  const auto high01 = high2(in0, in1), high23 = high2(in2, in3);
  const auto high45 = high2(in4, in5), high67 = high2(in6, in7);
  // Columns b and b + 1 of eight rows from those of four and four.
  const auto store2 = [&](auto first, auto second, int64_t b) {
    const auto x = hn::BitCast(quads, first), y = hn::BitCast(quads, second);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(quads, x, y)), d, to + b * to_stride);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(quads, x, y)), d, to + (b + 1) * to_stride);
  };
  store2(hn::InterleaveLower(pairs, low01, low23), hn::InterleaveLower(pairs, low45, low67), 0);
  store2(hn::InterleaveUpper(pairs, low01, low23), hn::InterleaveUpper(pairs, low45, low67), 2);
  store2(hn::InterleaveLower(pairs, high01, high23), hn::InterleaveLower(pairs, high45, high67), 4);
  store2(hn::InterleaveUpper(pairs, high01, high23), hn::InterleaveUpper(pairs, high45, high67), 6);
#endif
}

// Whole tiles by vectors, the rest element by element.
template <typename T>
HWY_INLINE void TransposeBlock(const Block<T>& block) {
  constexpr int64_t kTile = TileOf(static_cast<const T*>(nullptr));
  HWY_ALIGN T lines[kColumns<T> * kRows];
  const int64_t tiled_rows = block.rows / kTile * kTile;
  const int64_t tiled_columns = block.columns / kTile * kTile;
  for (int64_t a = 0; a < tiled_rows; a += kTile) {
    const T* from = block.from + a * block.from_stride;
    // The next block's lines: the hardware follows fewer rows than there are.
    for (int64_t row = 0; row < kTile; ++row) {
      hwy::Prefetch(from + row * block.from_stride + kColumns<T>);
    }
    for (int64_t b = 0; b < tiled_columns; b += kTile) {
      TransposeTile(from + b, block.from_stride, lines + b * kRows + a, kRows);
    }
  }
  for (int64_t a = 0; a < block.rows; ++a) {
    const T* from = block.from + a * block.from_stride;
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

}  // namespace HWY_NAMESPACE
}  // namespace mluop::transpose
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::transpose {
namespace {

HWY_EXPORT(TransposeFloat);
HWY_EXPORT(TransposeHalf);

template <typename T, class Kernel>
void Run(const Arguments& arguments, CpuContext& context, Kernel kernel) {
  const T* input = arguments.In<T>("input");
  T* output = arguments.Out<T>("output");
  const int64_t n = arguments.Symbol("N"), rows = arguments.Symbol("A");
  const int64_t columns = arguments.Symbol("B");
  const bool stream = static_cast<size_t>(n * rows * columns) * sizeof(T) >= kStreamBytes;
  const int64_t strips = (rows + kRows - 1) / kRows;
  const int64_t blocks = (columns + kColumns<T> - 1) / kColumns<T>;
  const int64_t grain = kGrain * strips * blocks / (rows * columns) + 1;
  context.threads().For(n * strips * blocks, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t b = item % blocks * kColumns<T>, a = item / blocks % strips * kRows;
      const int64_t matrix = item / blocks / strips * rows * columns;
      kernel({input + matrix + a * columns + b, columns, output + matrix + b * rows + a, rows,
              std::min(kRows, rows - a), std::min(kColumns<T>, columns - b), stream});
    }
  });
}

}  // namespace

mluOpStatus_t TransposeCpu(const Arguments& arguments, CpuContext& context) {
  if (arguments.Type() == MLUOP_DTYPE_FLOAT) {
    Run<float>(arguments, context, HWY_DYNAMIC_DISPATCH(TransposeFloat));
  } else {
    Run<uint16_t>(arguments, context, HWY_DYNAMIC_DISPATCH(TransposeHalf));
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::transpose
#endif  // HWY_ONCE
