// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices, implementation "double": a thread owns an element of the output.
#include "ops/psamask/cuda/kernels.h"

namespace mluop::psamask {
namespace {

constexpr int kDoubleThreads = 256;

// The distances from pixel to pixel and from cell to cell in the input.
struct Strides {
  int64_t pixel, cell;
};

Strides StridesOf(const Problem& p) {
  return p.in_pixel_major ? Strides{p.in.size(), 1} : Strides{1, p.pixels()};
}

struct DoubleCopy {
  const double* from;
  double* to;
  Strides in;
  bool out_pixel_major;
  int64_t count;  // elements of the output
};

__global__ void __launch_bounds__(kDoubleThreads) CopyElements(Shape shape, DoubleCopy copy) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= copy.count) return;
  const int64_t cells = shape.out_size(), of_image = i % (shape.pixels * cells);
  const int64_t image = i / (shape.pixels * cells);
  const bool pixel_major = copy.out_pixel_major;
  const auto pixel = static_cast<int>(pixel_major ? of_image / cells : of_image % shape.pixels);
  const auto cell = static_cast<int>(pixel_major ? of_image % cells : of_image / shape.pixels);
  const auto [h, w] = shape.by_width(pixel);
  const int row = cell / shape.out_cols + shape.RowShift(h);
  const int col = cell % shape.out_cols + shape.ColShift(w);
  const bool inside = shape.HasInRow(row) && shape.HasInCol(col);
  const int64_t at = image * shape.pixels * int64_t{shape.in_size()} + pixel * copy.in.pixel +
                     (int64_t{row} * shape.in_cols + col) * copy.in.cell;
  copy.to[i] = inside ? copy.from[at] : 0.0;
}

}  // namespace

mluOpStatus_t CopyDoubles(const PsamaskCall& call, void*) {
  const Problem& p = call.p;
  const auto& tensors = call.arguments.tensors;
  const DoubleCopy copy = {static_cast<const double*>(tensors[0].data),
                           static_cast<double*>(tensors[1].data), StridesOf(p), p.out_pixel_major,
                           p.out_count()};
  call.context.Launch(CopyElements, {CeilDiv(copy.count, kDoubleThreads), kDoubleThreads},
                      ShapeOf(p), copy);
  return call.context.status();
}

}  // namespace mluop::psamask
