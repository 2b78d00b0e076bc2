// SPDX-License-Identifier: Apache-2.0
// psamask where input and output are stored by pixels: the output is written from its first line to
// its last, each row of a pixel's grid a run of the input's and zeros.
#include "ops/psamask/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu_runs.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psamask {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::LineWriter;

// The pixels [begin, end) of [N*H*W].
void CopyRunsOf(const Mapping& m, const Tensors& tensors, int64_t begin, int64_t end) {
  LineWriter writer(tensors.out + begin * m.out.size(), tensors.stream);
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const int64_t w = pixel % m.w, h = pixel / m.w % m.h;
    const Range rows = m.OutRows(h), cols = m.OutCols(w);
    const float* from = tensors.in + pixel * m.in.size() +
                        (rows.begin + m.RowShift(h)) * m.in.cols + cols.begin + m.ColShift(w);
    int64_t written = 0;  // of the pixel's grid
    for (int64_t row = rows.begin; row < rows.end; ++row, from += m.in.cols) {
      const int64_t place = row * m.out.cols + cols.begin;
      writer.AppendZeros(place - written);
      writer.Append(from, cols.count());
      written = place + cols.count();
    }
    writer.AppendZeros(m.out.size() - written);
  }
  writer.Finish();
  if (tensors.stream) hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psamask
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psamask {

HWY_EXPORT(CopyRunsOf);

void CopyRuns(const Mapping& m, const Tensors& tensors, Context& context) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(CopyRunsOf);
  context.threads().For(m.n * m.pixels(), kGrain / m.out.size() + 1,
                        [&](int64_t begin, int64_t end, int) { kernel(m, tensors, begin, end); });
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
