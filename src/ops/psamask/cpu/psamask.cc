// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU: which kernel a call wants.
#include "cpu/tuning.h"
#include "ops/psamask/cpu/operators.h"

#include <algorithm>
#include <cstring>

#include "ops/psamask/cpu/kernels.h"

namespace mluop::psamask {
namespace {

// How a tensor is stored: the distance from pixel to pixel, and from place to place of a grid.
struct Strides {
  int64_t pixel, place;
};

Strides StridesOf(const Mapping& m, const Grid& grid, bool by_pixels) {
  return by_pixels ? Strides{grid.size(), 1} : Strides{1, m.pixels()};
}

// One element after the other, into zeros: what has too little in a square, or too little at all.
void CopyPlaces(const Mapping& m, const Tensors& tensors, bool in_by_pixels, bool out_by_pixels,
                CpuContext& context) {
  const Strides in = StridesOf(m, m.in, in_by_pixels), out = StridesOf(m, m.out, out_by_pixels);
  const int64_t in_image = m.pixels() * m.in.size(), out_image = m.pixels() * m.out.size();
  context.threads().For(m.n * out_image, kGrain, [&](int64_t begin, int64_t end, int) {
    std::memset(tensors.out + begin, 0, static_cast<size_t>(end - begin) * sizeof(float));
  });
  const auto copy_row = [&](int64_t image, int64_t h) {
    const Range rows = m.OutRows(h);
    for (int64_t w = 0; w < m.w; ++w) {
      const Range cols = m.OutCols(w);
      const float* from = tensors.in + image * in_image + (h * m.w + w) * in.pixel +
                          (m.RowShift(h) * m.in.cols + m.ColShift(w)) * in.place;
      float* to = tensors.out + image * out_image + (h * m.w + w) * out.pixel;
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        for (int64_t col = cols.begin; col < cols.end; ++col) {
          to[(row * m.out.cols + col) * out.place] = from[(row * m.in.cols + col) * in.place];
        }
      }
    }
  };
  const int64_t work = m.w * std::min(m.in.size(), m.out.size());
  context.threads().For(m.n * m.h, kGrain / work + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) copy_row(row / m.h, row % m.h);
  });
}

mluOpStatus_t Run(const Arguments& arguments, CpuContext& context, Layout layout, bool forward) {
  const Problem p = MakeProblem(arguments);
  const Mapping m = MakeMapping(p, forward);
  const int64_t out_floats = m.n * m.pixels() * m.out.size();
  const Tensors tensors = {static_cast<const float*>(arguments.tensors[0].data),
                           static_cast<float*>(arguments.tensors[1].data),
                           static_cast<size_t>(out_floats) * sizeof(float) >= kStreamBytes};
  const auto [in_by_pixels, out_by_pixels] = StorageOf(layout, p.type, forward);
  const bool few = m.n * m.pixels() * std::min(m.in.size(), m.out.size()) < kFewElements;
  const bool no_squares = m.pixels() < kFewPixels || p.w_mask * kNarrow <= p.w;
  if (in_by_pixels && out_by_pixels && !few) {
    CopyRuns(m, tensors, context);
  } else if (few || no_squares) {
    CopyPlaces(m, tensors, in_by_pixels, out_by_pixels, context);
  } else if (in_by_pixels) {
    TransposeOut(m, tensors, context);
  } else if (out_by_pixels) {
    TransposeIn(m, tensors, context);
  } else {
    Skew(m, tensors, context);
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace

mluOpStatus_t ForwardCpu(const Arguments& arguments, CpuContext& context) {
  return Run(arguments, context, Layout::kNhwc, true);
}
mluOpStatus_t BackwardCpu(const Arguments& arguments, CpuContext& context) {
  return Run(arguments, context, Layout::kNhwc, false);
}
mluOpStatus_t NchwForwardCpu(const Arguments& arguments, CpuContext& context) {
  return Run(arguments, context, Layout::kNchw, true);
}
mluOpStatus_t NchwBackwardCpu(const Arguments& arguments, CpuContext& context) {
  return Run(arguments, context, Layout::kNchw, false);
}

}  // namespace mluop::psamask
