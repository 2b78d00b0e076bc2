// SPDX-License-Identifier: Apache-2.0
// psamask where input and output are stored by pixels: the output is written from its first line to
// its last, each row of a pixel's grid a run of the input's and zeros.
#include "cpu/tuning.h"
#include "ops/psamask/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu/runs.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psamask {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::LineWriter;

// The runs of the input that the pixels [pixel, end) of [N*H*W] take, one after the other.
struct Runs {
  const Mapping& m;
  const float* in;
  int64_t pixel, end;
  Range rows = {0, 0}, cols = {0, 0};  // of the pixel
  const float* from = nullptr;         // its run of output row rows.begin

  void Find() {
    const int64_t w = pixel % m.w, h = pixel / m.w % m.h;
    rows = m.OutRows(h);
    cols = m.OutCols(w);
    from = in + pixel * m.in.size() + (rows.begin + m.RowShift(h)) * m.in.cols + cols.begin +
           m.ColShift(w);
  }
};

// Asks for the runs of the input some rows before they are copied: the hardware takes the gaps
// between them, too.
class Ahead {
 public:
  explicit Ahead(const Runs& runs) : runs_(runs) { runs_.Find(); }

  HWY_INLINE void Next() {
    if (row_ >= runs_.rows.count()) {
      if (runs_.pixel + 1 >= runs_.end) return;
      ++runs_.pixel;
      runs_.Find();
      row_ = 0;
    }
    const float* from = runs_.from + row_ * runs_.m.in.cols;
    const int64_t count = runs_.cols.count();
    for (int64_t i = 0; i < count; i += 16) hwy::Prefetch(from + i);
    hwy::Prefetch(from + count - 1);
    ++row_;
  }

 private:
  Runs runs_;
  int64_t row_ = 0;
};

// The pixels [begin, end) of [N*H*W].
void CopyRunsOf(const Mapping& m, const Tensors& tensors, int64_t begin, int64_t end) {
  LineWriter writer(tensors.out + begin * m.out.size(), tensors.stream);
  Runs runs = {m, tensors.in, begin, end};
  Ahead ahead(runs);
  for (int i = 0; i < kAhead; ++i) ahead.Next();
  for (; runs.pixel < end; ++runs.pixel) {
    runs.Find();
    const Range rows = runs.rows, cols = runs.cols;
    const float* from = runs.from;
    int64_t written = 0;  // of the pixel's grid
    for (int64_t row = rows.begin; row < rows.end; ++row, from += m.in.cols) {
      const int64_t place = row * m.out.cols + cols.begin;
      ahead.Next();
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

void CopyRuns(const Mapping& m, const Tensors& tensors, CpuContext& context) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(CopyRunsOf);
  context.threads().For(m.n * m.pixels(), kGrain / m.out.size() + 1,
                        [&](int64_t begin, int64_t end, int) { kernel(m, tensors, begin, end); });
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
