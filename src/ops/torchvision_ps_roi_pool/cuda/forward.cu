// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool forward on CUDA devices. The order of a sum is torchvision's, so one
// thread owns a sum. Small maps are read in place, large ones through shared memory (staged_planes.h).
#include <algorithm>

#include "ops/roi/cuda/pixels.h"
#include "ops/roi/cuda/staged_planes.h"
#include "ops/torchvision_ps_roi_pool/cuda/kernels.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

constexpr int kThreads = 256;
// Loads in flight: bins are small, and latency would dominate.
constexpr int kLoads = 8;

// Adds in the order of the pixels.
__device__ float SumPixels(roi::Pixels<> pixels, const float* __restrict__ plane) {
  float sum = 0;
  while (pixels.any()) {
    float values[kLoads];
    pixels.Load(plane, values);
#pragma unroll
    for (const float value : values) sum += value;
  }
  return sum;
}

// A block owns `blockDim.x` outputs of one RoI, or the rest of them.
__global__ void __launch_bounds__(kThreads) PoolDirect(Problem p, Tensors t, int slices) {
  __shared__ Place shared_place;
  const int64_t r = blockIdx.x / static_cast<unsigned>(slices);
  if (threadIdx.x == 0) shared_place = PlaceRoi(p, t.rois + r * 5);
  __syncthreads();
  const auto channel = blockIdx.x % static_cast<unsigned>(slices) * blockDim.x + threadIdx.x;
  if (channel >= p.channels()) return;
  const Place place = shared_place;
  float mean = 0;
  if (place.image >= 0) {
    const unsigned bin = channel % static_cast<unsigned>(p.bins());
    const auto across = static_cast<unsigned>(p.pooled_w);
    const Span rows = place.Rows(p, static_cast<int>(bin / across));
    const Span columns = place.Columns(p, static_cast<int>(bin % across));
    const int area = rows.size() * columns.size();
    const float* plane = t.input + (place.image * p.channels() + channel) * p.pixels();
    const roi::Pixels<> pixels(rows, columns, static_cast<unsigned>(p.w), 1);
    const float sum = SumPixels(pixels, plane);
    if (area > 0) mean = sum / static_cast<float>(area);
  }
  t.output[r * p.channels() + channel] = mean;
}

struct StagedPooling {
  const float* input;
  float* output;

  static __device__ float Sum(const float* plane, Span rows, Span columns, int width) {
    float sum = 0;
    const float* row = plane + rows.begin * width + columns.begin;
    for (int h = rows.size(); h > 0; --h, row += width) {
      for (int w = 0; w < columns.size(); ++w) sum += row[w];
    }
    return sum;
  }
  __device__ void Write(int64_t i, int, float mean) const { output[i] = mean; }
};

roi::StagedMap StagedMapOf(const Problem& p) {
  return {p.n,        p.channels(), static_cast<int>(p.h), static_cast<int>(p.w), p.pooled_h,
          p.pooled_w, p.rois};
}

mluOpStatus_t RunDirect(const CudaCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const Tensors t(call.arguments);
  if (p.map_elements() == 0) {
    call.context.Zero(t.output, call.arguments.Tensor("output").ByteCount());
    return call.context.status();
  }
  const auto threads =
      static_cast<int>(std::min<int64_t>(CeilDiv(p.channels(), 32) * 32, kThreads));
  const int64_t slices = CeilDiv(p.channels(), threads);
  // No more blocks than outputs: below 2^31.
  call.context.Launch(PoolDirect, Grid{p.rois * slices, threads}, p, t, static_cast<int>(slices));
  return call.context.status();
}

mluOpStatus_t RunStaged(const CudaCall<Problem>& call, void* scratch) {
  const Tensors t(call.arguments);
  return roi::RunStaged(call.context, call.p, StagedMapOf(call.p), t.rois,
                        StagedPooling{t.input, t.output}, scratch);
}

constexpr CudaImplementation<Problem> kForward[] = {
    {"staged", "4 MiB of map or more, at most 32 elements per output, a plane fits shared memory",
     [](const CudaCall<Problem>& call) {
       return IsSmall(call) && StagedMapOf(call.p).PlanesToStage(call.context.shared_bytes()) > 0;
     },
     [](const CudaCall<Problem>& call) { return roi::SpanTable::Bytes(StagedMapOf(call.p)); },
     RunStaged},
    {"direct", "tensors have fewer than 2^31 elements", IsSmall, nullptr, RunDirect},
    CudaImplementation<Problem>::ForDouble(RunDoubleForward),
};

}  // namespace

constexpr CudaOperator kForwardCuda =
    Bind<MakeProblem, kForward>("torchvision_ps_roi_pool_forward");

}  // namespace mluop::torchvision_ps_roi_pool
