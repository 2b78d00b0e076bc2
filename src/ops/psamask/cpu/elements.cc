// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU, implementations "elements" and "double": copies one element after the other
// into zeros.
#include <cstring>

#include "ops/psamask/cpu/kernels.h"

namespace mluop::psamask {
namespace {

// The distances from pixel to pixel and from cell to cell in a tensor.
struct Strides {
  int64_t pixel, cell;
};

Strides StridesOf(const Problem& p, const CellGrid& grid, bool pixel_major) {
  return pixel_major ? Strides{grid.size(), 1} : Strides{1, p.pixels()};
}

template <typename T>
mluOpStatus_t CopyElementsOf(const PsamaskCall& call) {
  const Problem& p = call.p;
  const auto* const all_in = static_cast<const T*>(call.arguments.tensors[0].data);
  auto* const all_out = static_cast<T*>(call.arguments.tensors[1].data);
  const Strides in = StridesOf(p, p.in, p.in_pixel_major);
  const Strides out = StridesOf(p, p.out, p.out_pixel_major);
  const auto copy_pixel = [&](int64_t image, int64_t h, int64_t w) {
    const int64_t pixel = h * p.w + w;
    const Range rows = p.OutRows(h), cols = p.OutCols(w);
    const T* from = all_in + image * p.pixels() * p.in.size() + pixel * in.pixel +
                    (p.RowShift(h) * p.in.cols + p.ColShift(w)) * in.cell;
    T* to = all_out + image * p.pixels() * p.out.size() + pixel * out.pixel;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t col = cols.begin; col < cols.end; ++col) {
        to[(row * p.out.cols + col) * out.cell] = from[(row * p.in.cols + col) * in.cell];
      }
    }
  };
  ThreadPool& threads = call.context.threads();
  threads.For(p.out_count(), kGrain, [&](int64_t begin, int64_t end, int) {
    std::memset(all_out + begin, 0, static_cast<size_t>(end - begin) * sizeof(T));
  });
  const int64_t work = p.w * std::min(p.in.size(), p.out.size());
  threads.ForEach(p.n * p.h, kGrain / work + 1, [&](int64_t row, int) {
    for (int64_t w = 0; w < p.w; ++w) copy_pixel(row / p.h, row % p.h, w);
  });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace

mluOpStatus_t CopyElements(const PsamaskCall& call, void*) { return CopyElementsOf<float>(call); }
mluOpStatus_t CopyDoubles(const PsamaskCall& call, void*) { return CopyElementsOf<double>(call); }

}  // namespace mluop::psamask
