// SPDX-License-Identifier: Apache-2.0
// psroipool backward on CUDA devices, the first kernel: which rois have which rows and columns,
// what their bins give, and whether the mapping is forward's.
#include <algorithm>

#include "ops/psroipool/cuda/backward.h"

namespace mluop::psroipool {
namespace {

constexpr int kThreads = 256;

// Of `step` columns at a time.
__device__ Range InSteps(const Range& columns, int step) {
  return {columns.begin / step, (columns.end + step - 1) / step};
}

// A warp to a bin of a roi. True if a lane has seen another channel than forward's.
__device__ bool IsOther(const Problem& p, const Gradients& t, int64_t item) {
  const auto bins = static_cast<unsigned>(p.bins());
  const auto bin = static_cast<int>(static_cast<unsigned>(item) % bins);  // of fewer than 2^31
  const int32_t* mapping = t.mapping + item * p.output_dim;
  bool other = false;
  for (int c = threadIdx.x % 32; c < p.output_dim; c += 32) {
    other |= mapping[c] != c * static_cast<int>(bins) + bin;
  }
  return other;
}

__global__ void __launch_bounds__(kThreads) Prepare(Problem p, Gradients t, Prepared prepared) {
  constexpr int kWarps = kThreads / 32;
  const int64_t warps = int64_t{gridDim.x} * kWarps;
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  bool other = false;
  for (int64_t i = warp; i < p.rois * p.bins(); i += warps) other |= IsOther(p, t, i);
  for (int64_t i = warp * 32 + threadIdx.x % 32; i < p.rois * p.bins(); i += warps * 32) {
    const auto bins = static_cast<unsigned>(p.bins()), item = static_cast<unsigned>(i);
    const auto group = static_cast<unsigned>(p.group), bin = item % bins;
    const Bin found = PlaceOf(p, t.rois, item / bins)
                          .BinOf(p, static_cast<int>(bin / group), static_cast<int>(bin % group));
    // That of an empty bin is never read.
    prepared.shares[i] = {1.0f / static_cast<float>(found.area()), found.columns};
  }
  // From the last warp on, because the first ones have had shares.
  for (int64_t i = warps - 1 - warp; i < prepared.masks.Items(); i += warps) {
    prepared.masks.Write(i, [&](int64_t r, bool is_row, int bin) {
      const Place place = PlaceOf(p, t.rois, r);
      return is_row ? place.Rows(p, bin) : InSteps(place.Columns(p, bin), prepared.columns);
    });
  }
  const int any = __syncthreads_or(other);
  if (threadIdx.x == 0) prepared.others[blockIdx.x] = any;
}

}  // namespace

int PrepareBlocks(const Problem& p, const CudaContext& context) {
  return static_cast<int>(
      std::min<int64_t>({CeilDiv(p.rois * p.bins(), kThreads / 32),
                         int64_t{8} * context.sm_count(), int64_t{kMostFlags}}));
}

void PrepareBackward(const Problem& p, const Gradients& t, const Prepared& prepared,
                     CudaContext& context) {
  context.Launch(Prepare, Grid{prepared.flags, kThreads}, p, t, prepared);
}

}  // namespace mluop::psroipool
