// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU: which kernel a call wants.
#include "ops/psamask/cpu.h"

#include <cstring>

#include "ops/psamask/kernels.h"

namespace mluop::psamask {
namespace {

constexpr int64_t kSmallPixels = 16;
constexpr int64_t kSmallOutput = 512;

enum class Layout { kNhwc, kNchw };

// The tensor of masks is stored by pixels in NHWC. The tensor of features has the pixel's grid in its
// channels in COLLECT, and the pixel itself there in DISTRIBUTE.
bool MaskByPixels(Layout layout) { return layout == Layout::kNhwc; }
bool FeatureByPixels(Layout layout, PsaType type) {
  return (layout == Layout::kNhwc) == (type == kCollect);
}

// How a tensor is stored: the distance from pixel to pixel, and from place to place of a grid.
struct Strides {
  int64_t pixel, place;
};

Strides StridesOf(const Mapping& m, const Grid& grid, bool by_pixels) {
  return by_pixels ? Strides{grid.size(), 1} : Strides{1, m.pixels()};
}

// One element after the other: what is too small for the kernels that move squares.
void CopyPlaces(const Mapping& m, const Tensors& tensors, Strides in, Strides out) {
  const int64_t in_image = m.pixels() * m.in.size(), out_image = m.pixels() * m.out.size();
  std::memset(tensors.out, 0, static_cast<size_t>(m.n * out_image) * sizeof(float));
  for (int64_t image = 0; image < m.n; ++image) {
    for (int64_t h = 0; h < m.h; ++h) {
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
    }
  }
}

mluOpStatus_t Run(const Arguments& arguments, Context& context, Layout layout, bool forward) {
  const Problem p = MakeProblem(arguments);
  const Mapping m = MakeMapping(p, forward);
  const int64_t out_floats = m.n * m.pixels() * m.out.size();
  const Tensors tensors = {static_cast<const float*>(arguments.tensors[0].data),
                           static_cast<float*>(arguments.tensors[1].data),
                           static_cast<size_t>(out_floats) * sizeof(float) >= kStreamBytes};
  const bool mask = MaskByPixels(layout), feature = FeatureByPixels(layout, p.type);
  const bool in_by_pixels = forward ? mask : feature, out_by_pixels = forward ? feature : mask;
  if (in_by_pixels && out_by_pixels) {
    CopyRuns(m, tensors, context);
  } else if (m.pixels() < kSmallPixels || out_floats < kSmallOutput) {
    CopyPlaces(m, tensors, StridesOf(m, m.in, in_by_pixels), StridesOf(m, m.out, out_by_pixels));
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

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context) {
  return Run(arguments, context, Layout::kNhwc, true);
}
mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context) {
  return Run(arguments, context, Layout::kNhwc, false);
}
mluOpStatus_t NchwForwardCpu(const Arguments& arguments, Context& context) {
  return Run(arguments, context, Layout::kNchw, true);
}
mluOpStatus_t NchwBackwardCpu(const Arguments& arguments, Context& context) {
  return Run(arguments, context, Layout::kNchw, false);
}

}  // namespace mluop::psamask
