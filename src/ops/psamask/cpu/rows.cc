// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU, implementation "rows": input and output are pixel-major. Writes the output
// front to back: each row of a pixel's grid is part of a row of the input's grid between zeros.
#include "ops/psamask/cpu/kernels.h"
#include "ops/psamask/cpu/tuning.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu/rows.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psamask {
namespace HWY_NAMESPACE {
namespace {

namespace simd = mluop::HWY_NAMESPACE;

// The part of a pixel's output grid that lies inside of its input grid.
struct PixelWindow {
  Range rows, cols;
  const float* from;  // the input of (rows.begin, cols.begin)
};

HWY_INLINE PixelWindow WindowOf(const Problem& p, const float* in, int64_t pixel) {
  const int64_t w = pixel % p.w, h = pixel / p.w % p.h;
  const Range rows = p.OutRows(h), cols = p.OutCols(w);
  return {rows, cols,
          in + pixel * p.in.size() + (rows.begin + p.RowShift(h)) * p.in.cols + cols.begin +
              p.ColShift(w)};
}

HWY_INLINE void PrefetchRow(const Problem& p, const PixelWindow& window, int64_t row) {
  if (row >= window.rows.count()) return;
  const float* from = window.from + row * p.in.cols;
  const int64_t count = window.cols.count();
  for (int64_t i = 0; i < count; i += kLine) hwy::Prefetch(from + i);
  hwy::Prefetch(from + count - 1);
}

// Writes the pixels [begin, end) of [N*H*W].
void CopyPixels(const Problem& p, const Tensors& tensors, int64_t begin, int64_t end) {
  simd::LineWriter writer(tensors.out + begin * p.out.size(), tensors.stream);
  PixelWindow next = WindowOf(p, tensors.in, begin);
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const PixelWindow window = next;
    next = WindowOf(p, tensors.in, std::min(pixel + 1, end - 1));
    const int64_t rows = window.rows.count(), cols = window.cols.count();
    int64_t written = 0;  // of the pixel's grid
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t ahead = row + kPrefetchRows;
      PrefetchRow(p, ahead < rows ? window : next, ahead < rows ? ahead : ahead - rows);
      const int64_t cell = (window.rows.begin + row) * p.out.cols + window.cols.begin;
      writer.AppendZeros(cell - written);
      writer.Append(window.from + row * p.in.cols, cols);
      written = cell + cols;
    }
    writer.AppendZeros(p.out.size() - written);
  }
  writer.Finish();
  if (tensors.stream) hwy::FlushStream();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mluop::psamask
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psamask {

HWY_EXPORT(CopyPixels);

mluOpStatus_t CopyRows(const PsamaskCall& call, void*) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(CopyPixels);
  const Problem& p = call.p;
  const Tensors tensors = TensorsOf(call);
  call.context.threads().For(
      p.n * p.pixels(), kGrain / p.out.size() + 1,
      [&](int64_t begin, int64_t end, int) { kernel(p, tensors, begin, end); });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
