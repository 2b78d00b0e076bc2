// SPDX-License-Identifier: Apache-2.0
// Blocks of 64 x 64 elements are transposed in tiles into a buffer in the L1 and leave it row by
// row: without it the rows of an output whose stride is a power of two would fight for one set of
// the cache, and every line would be written in four pieces.
#include "ops/transpose/cpu.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/transpose/cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/simd-inl.h"

#ifndef MLUOP_TRANSPOSE_BLOCK_
#define MLUOP_TRANSPOSE_BLOCK_
namespace mluop::transpose {

// An edge of a block, in elements.
constexpr int64_t kBlock = 64;

// One block: from[a*from_stride + b] goes to to[b*to_stride + a], a < rows, b < columns.
template <typename T>
struct Block {
  const T* from;
  int64_t from_stride;
  T* to;
  int64_t to_stride;
  int64_t rows, columns;
};

}  // namespace mluop::transpose
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::transpose {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::CopyRow;
using mluop::HWY_NAMESPACE::TransposeTile4;

constexpr int64_t TileOf(const float*) { return 4; }
constexpr int64_t TileOf(const uint16_t*) { return 8; }

HWY_INLINE void TransposeTile(const float* from, int64_t from_stride, float* to,
                              int64_t to_stride) {
  TransposeTile4(from, from_stride, to, to_stride);
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

// Whole tiles into rows of kBlock elements, the rest element by element.
template <typename T>
HWY_INLINE void TransposeBlock(const Block<T>& block) {
  constexpr int64_t kTile = TileOf(static_cast<const T*>(nullptr));
  HWY_ALIGN T rows[kBlock * kBlock];
  const int64_t tiled_rows = block.rows / kTile * kTile;
  const int64_t tiled_columns = block.columns / kTile * kTile;
  for (int64_t a = 0; a < tiled_rows; a += kTile) {
    const T* from = block.from + a * block.from_stride;
    for (int64_t b = 0; b < tiled_columns; b += kTile) {
      TransposeTile(from + b, block.from_stride, rows + b * kBlock + a, kBlock);
    }
  }
  for (int64_t a = 0; a < block.rows; ++a) {
    const T* from = block.from + a * block.from_stride;
    for (int64_t b = a < tiled_rows ? tiled_columns : 0; b < block.columns; ++b) {
      rows[b * kBlock + a] = from[b];
    }
  }
  for (int64_t b = 0; b < block.columns; ++b) {
    CopyRow(rows + b * kBlock, block.rows, block.to + b * block.to_stride);
  }
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

// Blocks are taken by regions of so many elements each way: a region touches a page per row of
// either matrix, and each page is found once for 1 KiB instead of once for 256 bytes.
constexpr int64_t kRegion = 256;

int64_t Parts(int64_t size, int64_t part) { return (size + part - 1) / part; }

template <typename T, class Kernel>
void Run(const Arguments& arguments, Context& context, Kernel kernel) {
  const T* input = arguments.In<T>("input");
  T* output = arguments.Out<T>("output");
  const int64_t n = arguments.Symbol("N"), rows = arguments.Symbol("A");
  const int64_t columns = arguments.Symbol("B");
  const int64_t down = Parts(rows, kRegion), across = Parts(columns, kRegion);
  const auto transpose_region = [&](int64_t matrix, int64_t top, int64_t left) {
    for (int64_t b = left; b < std::min(left + kRegion, columns); b += kBlock) {
      for (int64_t a = top; a < std::min(top + kRegion, rows); a += kBlock) {
        kernel({input + matrix + a * columns + b, columns, output + matrix + b * rows + a, rows,
                std::min(kBlock, rows - a), std::min(kBlock, columns - b)});
      }
    }
  };
  const int64_t grain = kGrain * down * across / (rows * columns) + 1;
  context.threads().For(n * down * across, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t item = begin; item < end; ++item) {
      transpose_region(item / (down * across) * rows * columns, item / across % down * kRegion,
                       item % across * kRegion);
    }
  });
}

}  // namespace

mluOpStatus_t TransposeCpu(const Arguments& arguments, Context& context) {
  if (arguments.Type() == MLUOP_DTYPE_FLOAT) {
    Run<float>(arguments, context, HWY_DYNAMIC_DISPATCH(TransposeFloat));
  } else {
    Run<uint16_t>(arguments, context, HWY_DYNAMIC_DISPATCH(TransposeHalf));
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::transpose
#endif  // HWY_ONCE
