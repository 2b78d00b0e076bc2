// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on CUDA devices, implementation "double": a thread owns one channel of a
// band of points, and adds voxels in ascending order.
#include "cuda/for_each.h"
#include "ops/roiaware_pool3d/cuda/kernels.h"

namespace mluop::roiaware_pool3d {
namespace {

// Bands of backward: enough threads to occupy the device with few channels. Every band reads all
// indices.
constexpr int kBands = 64;

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

}  // namespace

mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void*) {
  const Arguments& a = call.arguments;
  const DoubleGradients t = {a.In<int32_t>("pts_idx_of_voxels"), a.In<int32_t>("argmax"),
                             a.In<double>("grad_out"), a.Out<double>("grad_in")};
  const Problem p = call.p;
  call.context.Zero(t.sums, a.Tensor("grad_in").ByteCount());
  ForEach(call.context, int64_t{kBands} * p.channels, [=] __device__(int64_t i) {
    const int64_t band = i / p.channels;
    const Owned own = {i % p.channels, static_cast<int32_t>(band * p.points / kBands),
                       static_cast<int32_t>((band + 1) * p.points / kBands)};
    p.method == kMaximum ? AddMaximum(p, t, own) : AddAverage(p, t, own);
  });
  return call.context.status();
}

}  // namespace mluop::roiaware_pool3d
