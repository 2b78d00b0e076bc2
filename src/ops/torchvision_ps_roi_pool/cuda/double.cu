// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on CUDA devices, implementation "double": a thread owns an element of the
// output, and adds in a fixed order.
#include "ops/torchvision_ps_roi_pool/cuda/kernels.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

constexpr int kDoubleThreads = 256;

// The rows and columns of a bin; rows are counted through all images. Both spans are [0, 0) if the
// RoI is empty.
struct alignas(16) DoubleBin {
  Span rows, columns;
};

__device__ DoubleBin BinOf(const Problem& p, const double* roi, int64_t bin) {
  if (p.pixels() == 0) return {{0, 0}, {0, 0}};
  const PlaceOf<double> place = PlaceRoi(p, roi);
  return {place.MapRows(p, static_cast<int>(bin / p.pooled_w)),
          place.Columns(p, static_cast<int>(bin % p.pooled_w))};
}

__global__ void __launch_bounds__(kDoubleThreads) PoolDouble(Problem p, TensorsOf<double> t) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= p.rois * p.channels()) return;
  const int64_t r = i / p.channels(), channel = i % p.channels();
  const DoubleBin bin = BinOf(p, t.rois + r * 5, channel % p.bins());
  double sum = 0;
  for (int64_t y = bin.rows.begin; y < bin.rows.end; ++y) {
    const int64_t image = y / p.h, row = y % p.h;
    const double* line = t.input + (image * p.channels() + channel) * p.pixels() + row * p.w;
    for (int64_t x = bin.columns.begin; x < bin.columns.end; ++x) sum += line[x];
  }
  const int area = bin.rows.size() * bin.columns.size();
  t.output[i] = area > 0 ? sum / area : 0;
}

__global__ void __launch_bounds__(kDoubleThreads)
    FindBins(Problem p, const double* rois, DoubleBin* bins) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < p.rois * p.bins()) bins[i] = BinOf(p, rois + i / p.bins() * 5, i % p.bins());
}

// Adds RoIs in ascending order. bins: [R, bins]
__global__ void __launch_bounds__(kDoubleThreads)
    GatherDouble(Problem p, GradientsOf<double> t, const DoubleBin* bins) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= p.map_elements()) return;
  const int64_t plane = i / p.pixels(), pixel = i % p.pixels();
  const int64_t image = plane / p.channels(), channel = plane % p.channels();
  const auto row = static_cast<int32_t>(image * p.h + pixel / p.w);
  const auto column = static_cast<int32_t>(pixel % p.w);
  double sum = 0;
  for (int64_t r = 0; r < p.rois; ++r) {
    const DoubleBin bin = bins[r * p.bins() + channel % p.bins()];
    if (!bin.rows.Has(row) || !bin.columns.Has(column)) continue;
    sum += t.grad_output[r * p.channels() + channel] / (bin.rows.size() * bin.columns.size());
  }
  t.grad_input[i] = sum;
}

}  // namespace

mluOpStatus_t RunDoubleForward(const CudaCall<Problem>& call, void*) {
  const int64_t elements = call.p.rois * call.p.channels();
  call.context.Launch(PoolDouble, {CeilDiv(elements, kDoubleThreads), kDoubleThreads}, call.p,
                      TensorsOf<double>(call.arguments));
  return call.context.status();
}

size_t DoubleBackwardBytes(const CudaCall<Problem>& call) {
  return static_cast<size_t>(call.p.rois * call.p.bins()) * sizeof(DoubleBin);
}

mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void* scratch) {
  const Problem& p = call.p;
  const GradientsOf<double> t(call.arguments);
  auto* const bins = static_cast<DoubleBin*>(scratch);
  call.context.Launch(FindBins, {CeilDiv(p.rois * p.bins(), kDoubleThreads), kDoubleThreads}, p,
                      t.rois, bins);
  call.context.Launch(GatherDouble, {CeilDiv(p.map_elements(), kDoubleThreads), kDoubleThreads}, p,
                      t, bins);
  return call.context.status();
}

}  // namespace mluop::torchvision_ps_roi_pool
