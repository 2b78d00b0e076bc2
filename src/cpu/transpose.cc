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

// One block: from[a * from_stride + b] goes to to[b * to_stride + a], a < rows, b < columns.
struct Block {
  const void* from;
  int64_t from_stride;
  void* to;
  int64_t to_stride;
  int64_t rows, columns;
  bool stream;  // writes the output with non-temporal stores
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
HWY_INLINE void TransposeOf(const Block& block) {
  constexpr int64_t kColumns = kLineBytes / sizeof(T);
  HWY_ALIGN T lines[kColumns * kRows];
  // Prefetches the next block's lines: the hardware prefetcher tracks fewer streams.
  simd::Transpose<T>({static_cast<const T*>(block.from), block.from_stride, kColumns}, block.rows,
                     block.columns, {lines, kRows});
  for (int64_t b = 0; b < block.columns; ++b) {
    WriteRow(lines + b * kRows, block.rows, block.stream,
             static_cast<T*>(block.to) + b * block.to_stride);
  }
  if (block.stream) hwy::FlushStream();
}

void TransposeBlock(const Block& block, size_t element_bytes) {
  switch (element_bytes) {
    case 2: return TransposeOf<uint16_t>(block);
    case 4: return TransposeOf<float>(block);
    default: return TransposeOf<uint64_t>(block);
  }
}

}  // namespace
}  // namespace mluop::transpose_blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {
namespace transpose_blocks {
namespace {

HWY_EXPORT(TransposeBlock);

void Run(ThreadPool& threads, const Matrices& m, const void* input, void* output) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(TransposeBlock);
  const auto* const from = static_cast<const char*>(input);
  auto* const to = static_cast<char*>(output);
  const int64_t rows = m.rows, columns = m.columns;
  const auto bytes = static_cast<int64_t>(m.element_bytes);
  const bool stream = ShouldStream(m.bytes());
  const int64_t block_columns = kLineBytes / bytes;
  const int64_t bands = (rows + kRows - 1) / kRows;
  const int64_t blocks = (columns + block_columns - 1) / block_columns;
  const int64_t grain = kGrain * bands * blocks / (rows * columns) + 1;
  threads.ForEach(m.count * bands * blocks, grain, [&](int64_t item, int) {
    const int64_t b = item % blocks * block_columns, a = item / blocks % bands * kRows;
    const int64_t matrix = item / blocks / bands * rows * columns;
    kernel(
        {from + (matrix + a * columns + b) * bytes, columns, to + (matrix + b * rows + a) * bytes,
         rows, std::min(kRows, rows - a), std::min(block_columns, columns - b), stream},
        m.element_bytes);
  });
}

}  // namespace
}  // namespace transpose_blocks

mluOpStatus_t Transpose(CpuContext& context, const Matrices& m, const void* from, void* to) {
  transpose_blocks::Run(context.threads(), m, from, to);
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop
#endif  // HWY_ONCE
