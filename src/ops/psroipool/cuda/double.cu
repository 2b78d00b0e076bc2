// SPDX-License-Identifier: Apache-2.0
// psroipool on CUDA devices, implementation "double": a thread owns an element of the output, and adds
// in a fixed order.
#include "ops/psroipool/cuda/kernels.h"

namespace mluop::psroipool {
namespace {

constexpr int kDoubleThreads = 256;

__device__ Bin BinOf(const Problem& p, const PlaceOf<double>& place, int64_t bin) {
  return {place.MapRows(p, static_cast<int>(bin / p.group)),
          place.Columns(p, static_cast<int>(bin % p.group))};
}

__global__ void __launch_bounds__(kDoubleThreads) PoolDouble(Problem p, TensorsOf<double> t) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= p.rois * p.channels()) return;
  const int64_t r = i / p.channels(), index = i / p.output_dim % p.bins(), c = i % p.output_dim;
  const Bin bin = BinOf(p, PlaceRoi(p, t.rois + r * 5), index);
  const int64_t channel = p.Channel(index, c);
  double sum = 0;
  for (int64_t y = bin.rows.begin; y < bin.rows.end; ++y) {
    for (int64_t x = bin.columns.begin; x < bin.columns.end; ++x) {
      sum += t.input[(y * p.w + x) * p.channels() + channel];
    }
  }
  t.output[i] = sum / max(bin.area(), 1);
  t.mapping[i] = static_cast<int32_t>(channel);
}

// Values that backward computes once per bin of a RoI.
struct Bins {
  Bin* at;      // [R, bins]
  int* custom;  // nonzero: some mapping is not that of forward
};

// bins.custom must be zero on entry.
__global__ void __launch_bounds__(kDoubleThreads)
    FindBins(Problem p, GradientsOf<double> t, Bins bins) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= p.rois * p.bins()) return;
  bins.at[i] = BinOf(p, PlaceRoi(p, t.rois + i / p.bins() * 5), i % p.bins());
  bool custom = false;
  for (int64_t c = 0; c < p.output_dim; ++c) {
    custom |= t.mapping[i * p.output_dim + c] != p.Channel(i % p.bins(), c);
  }
  if (custom) *bins.custom = 1;  // every writer stores the same value
}

// Adds the gradients of bin `item` of [R, bins] in one channel to `sum` and returns the result.
// Without a custom mapping only output channel `channel / bins` contributes.
__device__ double GradientOf(const Problem& p, const GradientsOf<double>& t, int64_t item,
                             int64_t channel, bool custom, double sum, int area) {
  const int64_t first = custom ? 0 : channel / p.bins();
  const int64_t last = custom ? p.output_dim : first + 1;
  for (int64_t c = first; c < last; ++c) {
    const int64_t at = item * p.output_dim + c;
    if (t.mapping[at] == channel) sum += t.top_grad[at] / area;
  }
  return sum;
}

// Adds RoIs and their bins in ascending order.
__global__ void __launch_bounds__(kDoubleThreads)
    GatherDouble(Problem p, GradientsOf<double> t, Bins bins) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= p.map_elements()) return;
  const int64_t channel = i % p.channels(), pixel = i / p.channels();
  const auto row = static_cast<int32_t>(pixel / p.w), column = static_cast<int32_t>(pixel % p.w);
  const bool custom = *bins.custom != 0;
  const int64_t first = custom ? 0 : channel % p.bins();
  const int64_t step = custom ? 1 : p.bins();
  double sum = 0;
  for (int64_t item = first; item < p.rois * p.bins(); item += step) {
    const Bin bin = bins.at[item];
    if (!bin.rows.Has(row) || !bin.columns.Has(column)) continue;
    sum = GradientOf(p, t, item, channel, custom, sum, bin.area());
  }
  t.bottom_grad[i] = sum;
}

}  // namespace

mluOpStatus_t RunDoubleForward(const CudaCall<Problem>& call, void*) {
  const int64_t elements = call.p.rois * call.p.channels();
  call.context.Launch(PoolDouble, {CeilDiv(elements, kDoubleThreads), kDoubleThreads}, call.p,
                      TensorsOf<double>(call.arguments));
  return call.context.status();
}

size_t DoubleBackwardBytes(const CudaCall<Problem>& call) {
  return static_cast<size_t>(call.p.rois * call.p.bins()) * sizeof(Bin) + sizeof(int);
}

mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void* scratch) {
  const Problem& p = call.p;
  const GradientsOf<double> t(call.arguments);
  auto* const at = static_cast<Bin*>(scratch);
  const Bins bins = {at, reinterpret_cast<int*>(at + p.rois * p.bins())};
  call.context.Zero(bins.custom, sizeof(int));
  call.context.Launch(FindBins, {CeilDiv(p.rois * p.bins(), kDoubleThreads), kDoubleThreads}, p, t,
                      bins);
  call.context.Launch(GatherDouble, {CeilDiv(p.map_elements(), kDoubleThreads), kDoubleThreads}, p,
                      t, bins);
  return call.context.status();
}

}  // namespace mluop::psroipool
