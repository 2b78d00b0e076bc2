// SPDX-License-Identifier: Apache-2.0
// border_align backward on CUDA devices, implementation "double": a thread owns one channel in a band
// of rows of the map, and adds boxes in ascending order.
#include "ops/border_align/cuda/kernels.h"

namespace mluop::border_align {
namespace {

constexpr int kDoubleThreads = 128;
// Bands: enough threads to occupy the device with few channels. Every band reads all
// argmax.
constexpr int kBands = 16;

__device__ bool IsHorizontal(int border) { return border == kTop || border == kBottom; }

// The neighbours of a sample on both axes.
struct Sample {
  NeighboursOf<double> x, y;

  __device__ Sample(const Problem& p, const EdgeOf<double>& edge, int border, double position)
      : x(FindNeighbours(IsHorizontal(border) ? position : edge.fixed, p.w)),
        y(FindNeighbours(IsHorizontal(border) ? edge.fixed : position, p.h)) {}

  __device__ bool inside() const { return x.inside && y.inside; }
};

struct DoubleGradients {
  const double *gradient, *boxes;
  const int32_t* argmax;
  double* map;  // grad_input
};

// Adds a gradient to the neighbours of a sample that lie in rows [begin, end).
__device__ void Scatter(const Problem& p, const Sample& at, int begin, int end, double gradient,
                        double* map) {
  const auto add = [&](int row, int column, double weight) {
    if (row >= begin && row < end) {
      map[(int64_t{row} * p.w + column) * p.channels()] += weight * gradient;
    }
  };
  add(at.y.low, at.x.low, at.y.low_weight * at.x.low_weight);
  add(at.y.low, at.x.high, at.y.low_weight * at.x.high_weight);
  add(at.y.high, at.x.low, at.y.high_weight * at.x.low_weight);
  add(at.y.high, at.x.high, at.y.high_weight * at.x.high_weight);
}

// The map must be zero-initialised. Neighbouring threads have neighbouring channels.
__global__ void __launch_bounds__(kDoubleThreads) ScatterDouble(Problem p, DoubleGradients t) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= int64_t{p.n} * kBands * p.channels()) return;
  const int64_t channel = i % p.channels(), image = i / p.channels() / kBands;
  const int64_t band = i / p.channels() % kBands;
  const int border = static_cast<int>(channel / p.c);
  const auto begin = static_cast<int>(band * p.h / kBands);
  const auto end = static_cast<int>((band + 1) * p.h / kBands);
  double* map = t.map + image * p.pixels() * p.channels() + channel;
  for (int64_t box = image * p.k; box < (image + 1) * p.k; ++box) {
    const int32_t chosen = t.argmax[box * p.channels() + channel];
    if (chosen < 0 || chosen > p.pool_size) continue;
    const EdgeOf<double> edge = MakeEdge(LoadBox(t.boxes, box), border, p.pool_size);
    double position = edge.start;
    for (int32_t sample = 0; sample < chosen; ++sample) position += edge.step;
    const Sample at(p, edge, border, position);
    if (at.inside()) Scatter(p, at, begin, end, t.gradient[box * p.channels() + channel], map);
  }
}

}  // namespace

mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void*) {
  const Arguments& a = call.arguments;
  const DoubleGradients t = {a.In<double>("grad_output"), a.In<double>("boxes"),
                             a.In<int32_t>("argmax_idx"), a.Out<double>("grad_input")};
  const int64_t owners = int64_t{call.p.n} * kBands * call.p.channels();
  call.context.Zero(t.map, a.Tensor("grad_input").ByteCount());
  call.context.Launch(ScatterDouble, {CeilDiv(owners, kDoubleThreads), kDoubleThreads}, call.p, t);
  return call.context.status();
}

}  // namespace mluop::border_align
