// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on CUDA devices, implementation "double". Forward: a warp lists the points of a box
// in ascending order; then a thread owns an element of the output. Backward: a thread owns one channel
// of a band of points, and adds voxels in ascending order.
#include "ops/roiaware_pool3d/cuda/kernels.h"

namespace mluop::roiaware_pool3d {
namespace {

constexpr int kDoubleThreads = 128;
// Bands of backward: enough threads to occupy the device with few channels. Every band reads all
// indices.
constexpr int kBands = 64;

struct DoubleTensors {
  const double *rois, *pts, *features;
  int32_t* argmax;   // NULL if absent
  int32_t* indices;  // pts_idx_of_voxels
  double* pooled;
};

// The indices must be zero-initialised. The first lane writes, so that the points of a voxel are in
// ascending order.
__global__ void __launch_bounds__(kLanes) ListPoints(Problem p, DoubleTensors t) {
  const int64_t box = blockIdx.x;
  double values[kRoiValues];
  for (int i = 0; i < kRoiValues; ++i) values[i] = t.rois[box * kRoiValues + i];
  const BoxOf<double> geometry = MakeBox(p, values);
  int32_t* const slots = t.indices + box * p.box_voxels() * p.slots;
  for (int64_t first = 0; first < p.points; first += kLanes) {
    const int64_t i = first + threadIdx.x;
    const double* at = t.pts + i * 3;
    const int voxel = i < p.points ? geometry.VoxelOf(p, at[0], at[1], at[2]) : -1;
    unsigned inside = __ballot_sync(kAllLanes, voxel >= 0);
    for (; inside != 0; inside &= inside - 1) {
      const int lane = __ffs(static_cast<int>(inside)) - 1;
      const int found = __shfl_sync(kAllLanes, voxel, lane);
      int32_t* const row = slots + int64_t{found} * p.slots;
      if (threadIdx.x == 0 && row[0] < p.capacity()) {
        row[++row[0]] = static_cast<int32_t>(first + lane);
      }
    }
  }
}

__global__ void __launch_bounds__(kDoubleThreads) PoolDouble(Problem p, DoubleTensors t) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= p.voxels() * p.channels) return;
  const int32_t* const row = t.indices + i / p.channels * p.slots;
  const int64_t c = i % p.channels;
  double best = -INFINITY, sum = 0;
  int32_t argmax = -1;
  for (int32_t k = 1; k <= row[0]; ++k) {
    const double value = t.features[int64_t{row[k]} * p.channels + c];
    sum += value;
    if (value > best) best = value, argmax = row[k];
  }
  if (p.method == kMaximum) {
    t.pooled[i] = argmax < 0 ? 0 : best;
    t.argmax[i] = argmax;
  } else {
    t.pooled[i] = sum / max(row[0], 1);
    if (t.argmax != nullptr) t.argmax[i] = 0;
  }
}

struct DoubleGradients {
  const int32_t *indices, *argmax;
  const double* grad_out;
  double* sums;  // grad_in
};

// The points [begin, end) of channel c.
struct Owned {
  int64_t c;
  int32_t begin, end;

  __device__ bool Has(int32_t point) const { return point >= begin && point < end; }
};

__device__ void AddMaximum(const Problem& p, const DoubleGradients& t, const Owned& own) {
#pragma unroll 4
  for (int64_t i = own.c; i < p.voxels() * p.channels; i += p.channels) {
    const int32_t point = t.argmax[i];
    if (own.Has(point)) t.sums[int64_t{point} * p.channels + own.c] += t.grad_out[i];
  }
}

__device__ void AddAverage(const Problem& p, const DoubleGradients& t, const Owned& own) {
  for (int64_t voxel = 0; voxel < p.voxels(); ++voxel) {
    const int32_t* const row = t.indices + voxel * p.slots;
    const int count = p.Stored(row[0]);
    for (int k = 1; k <= count; ++k) {
      if (!own.Has(row[k])) continue;
      t.sums[int64_t{row[k]} * p.channels + own.c] +=
          t.grad_out[voxel * p.channels + own.c] / count;
    }
  }
}

// The sums must be zero-initialised. Neighbouring threads have neighbouring channels.
__global__ void __launch_bounds__(kDoubleThreads) ScatterDouble(Problem p, DoubleGradients t) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= int64_t{kBands} * p.channels) return;
  const int64_t band = i / p.channels;
  const Owned own = {i % p.channels, static_cast<int32_t>(band * p.points / kBands),
                     static_cast<int32_t>((band + 1) * p.points / kBands)};
  p.method == kMaximum ? AddMaximum(p, t, own) : AddAverage(p, t, own);
}

}  // namespace

mluOpStatus_t RunDoubleForward(const CudaCall<Problem>& call, void*) {
  const Arguments& a = call.arguments;
  const DoubleTensors t = {a.In<double>("rois"),
                           a.In<double>("pts"),
                           a.In<double>("pts_feature"),
                           a.Out<int32_t>("argmax"),
                           a.Out<int32_t>("pts_idx_of_voxels"),
                           a.Out<double>("pooled_features")};
  const int64_t elements = call.p.voxels() * call.p.channels;
  call.context.Zero(t.indices, a.Tensor("pts_idx_of_voxels").ByteCount());
  call.context.Launch(ListPoints, {call.p.boxes, kLanes}, call.p, t);
  call.context.Launch(PoolDouble, {CeilDiv(elements, kDoubleThreads), kDoubleThreads}, call.p, t);
  return call.context.status();
}

mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void*) {
  const Arguments& a = call.arguments;
  const DoubleGradients t = {a.In<int32_t>("pts_idx_of_voxels"), a.In<int32_t>("argmax"),
                             a.In<double>("grad_out"), a.Out<double>("grad_in")};
  const int64_t owners = int64_t{kBands} * call.p.channels;
  call.context.Zero(t.sums, a.Tensor("grad_in").ByteCount());
  call.context.Launch(ScatterDouble, {CeilDiv(owners, kDoubleThreads), kDoubleThreads}, call.p, t);
  return call.context.status();
}

}  // namespace mluop::roiaware_pool3d
