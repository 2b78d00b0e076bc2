// SPDX-License-Identifier: Apache-2.0
// transpose on the CPU, implementation "tiles". A band of 256 rows is transposed from left to right,
// one cache line of every row at a time: tiles go through registers into a buffer in the L1, which is
// written row by row. The band's pages stay in the TLB, and each page of the output is looked up once
// per 256 elements. Without the buffer, the rows of an output whose stride is a power of two would
// compete for one set of the cache.
#include "cpu/context.h"
#include "cpu/tuning.h"
#include "ops/transpose/cpu/double.h"
#include "ops/transpose/problem.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/transpose/cpu/transpose.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lines-inl.h"
#include "cpu/simd-inl.h"
#include "cpu/square-inl.h"

#ifndef MLUOP_TRANSPOSE_BLOCK_
#define MLUOP_TRANSPOSE_BLOCK_
namespace mluop::transpose {

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

}  // namespace mluop::transpose
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::transpose {
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
    // Prefetches the next block's lines: the hardware follows fewer rows.
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
}  // namespace mluop::transpose
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::transpose {
namespace {

HWY_EXPORT(TransposeFloat);
HWY_EXPORT(TransposeHalf);

template <typename T, class Kernel>
void ForEachBlock(const CpuCall<Problem>& call, Kernel kernel) {
  const int64_t n = call.p.n, rows = call.p.a, columns = call.p.b;
  const T* input = call.arguments.In<T>("input");
  T* output = call.arguments.Out<T>("output");
  const bool stream = static_cast<size_t>(n * rows * columns) * sizeof(T) >= kStreamBytes;
  const int64_t bands = (rows + kRows - 1) / kRows;
  const int64_t blocks = (columns + kColumns<T> - 1) / kColumns<T>;
  const int64_t grain = kGrain * bands * blocks / (rows * columns) + 1;
  call.context.threads().For(n * bands * blocks, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t b = item % blocks * kColumns<T>, a = item / blocks % bands * kRows;
      const int64_t matrix = item / blocks / bands * rows * columns;
      kernel({input + matrix + a * columns + b, columns, output + matrix + b * rows + a, rows,
              std::min(kRows, rows - a), std::min(kColumns<T>, columns - b), stream});
    }
  });
}

mluOpStatus_t TransposeTiles(const CpuCall<Problem>& call, void*) {
  if (call.p.half) {
    ForEachBlock<uint16_t>(call, HWY_DYNAMIC_DISPATCH(TransposeHalf));
  } else {
    ForEachBlock<float>(call, HWY_DYNAMIC_DISPATCH(TransposeFloat));
  }
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kTranspose[] = {
    {"tiles", "always", Always, nullptr, TransposeTiles},
    CpuImplementation<Problem>::ForDouble(RunDouble)};
constexpr CpuOperator kTransposeCpu = Bind<MakeProblem, kTranspose>("transpose");
constexpr const CpuOperator* kOperators[] = {&kTransposeCpu};

}  // namespace

extern const CpuFamily kCpuFamily;
constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::transpose
#endif  // HWY_ONCE
