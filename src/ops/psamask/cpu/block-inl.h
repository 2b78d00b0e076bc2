// SPDX-License-Identifier: Apache-2.0
// Blocks of pixels of an output that is stored by places, and the cache lines that are theirs. The
// output's rows are H*W floats and begin anywhere in a line: a block owns the lines that begin in it,
// and so reaches a little into the next one. Included once per instruction set.

#ifndef MLUOP_PSAMASK_BLOCK_
#define MLUOP_PSAMASK_BLOCK_

#include <algorithm>

#include "cpu/tuning.h"
#include "ops/psamask/cpu/kernels.h"

namespace mluop::psamask {

constexpr int64_t kBlock = 512;  // pixels

inline Range ReachOf(Range block, int64_t pixels) {
  return {block.begin, std::min(block.end + kLine - 1, pixels)};
}

// The pixels of the pixel rows `rows`, as far as they are within `reach`.
inline Range PixelsOf(Range rows, int64_t width, Range reach) {
  const int64_t begin = std::clamp(rows.begin * width, reach.begin, reach.end);
  return {begin, std::clamp(rows.end * width, begin, reach.end)};
}

// The pixels of the row at `to` that the block writes: its lines, and the ends of the row.
inline Range LinesOf(const float* to, Range block, int64_t pixels) {
  const auto align = [&](int64_t p) {
    const auto at = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to + p) / sizeof(float));
    return std::min(p + (kLine - at % kLine) % kLine, pixels);
  };
  return {block.begin == 0 ? 0 : align(block.begin), align(block.end)};
}

// Calls body(image, block, rows, worker) on blocks of pixels and rows of the output's grids. A
// thread has many rows of the same block.
template <class Body>
void ForEachBlock(const Mapping& m, CpuContext& context, const Body& body) {
  const int64_t blocks = (m.pixels() + kBlock - 1) / kBlock;
  const int64_t work = std::min(kBlock, m.pixels()) * m.out.cols;
  context.threads().For(m.n * blocks * m.out.rows, kGrain / work + 1,
                        [&](int64_t begin, int64_t end, int worker) {
                          while (begin < end) {
                            const int64_t block = begin / m.out.rows, row = begin % m.out.rows;
                            const int64_t count = std::min(m.out.rows - row, end - begin);
                            const int64_t first = block % blocks * kBlock;
                            body(block / blocks, Range{first, std::min(first + kBlock, m.pixels())},
                                 Range{row, row + count}, worker);
                            begin += count;
                          }
                        });
}

}  // namespace mluop::psamask
#endif  // MLUOP_PSAMASK_BLOCK_

#if defined(MLUOP_OPS_PSAMASK_CPU_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_PSAMASK_CPU_BLOCK_INL_H_
#undef MLUOP_OPS_PSAMASK_CPU_BLOCK_INL_H_
#else
#define MLUOP_OPS_PSAMASK_CPU_BLOCK_INL_H_
#endif

#include "cpu/lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psamask {
namespace HWY_NAMESPACE {

// to[p] = from[p] for p in `lines`; 0 where p is not in `live`.
HWY_INLINE void WriteLines(const float* from, Range live, Range lines, bool stream, float* to) {
  mluop::HWY_NAMESPACE::LineWriter writer(to + lines.begin, stream);
  const int64_t begin = std::clamp(live.begin, lines.begin, lines.end);
  const int64_t end = std::clamp(live.end, begin, lines.end);
  writer.AppendZeros(begin - lines.begin);
  writer.Append(from + begin, end - begin);
  writer.AppendZeros(lines.end - end);
  writer.Finish();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psamask
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_PSAMASK_CPU_BLOCK_INL_H_
