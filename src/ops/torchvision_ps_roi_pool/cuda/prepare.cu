// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool backward on CUDA devices, the first kernel: which rois have which rows
// and columns, and the gradients by their areas, transposed to [roi][bin][channel].
#include <algorithm>

#include "ops/torchvision_ps_roi_pool/cuda/backward.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

constexpr int kPrepareThreads = 512;

// Of `step` columns at a time.
__device__ Range InSteps(const Range& columns, int step) {
  return {columns.begin / step, (columns.end + step - 1) / step};
}

// By `blocks` blocks, of which this one is `block`.
__device__ void WriteTables(const Problem& p, const Gradients& t, const Prepared& prepared,
                            int64_t block, int64_t blocks) {
  const int64_t first = block * kPrepareThreads + threadIdx.x, threads = blocks * kPrepareThreads;
  for (int64_t i = first / 32; i < prepared.masks.Items(); i += threads / 32) {
    prepared.masks.Write(i, [&](int64_t r, bool is_row, int bin) {
      const Place place = PlaceOf(p, t.rois + r * 5);
      return is_row ? place.Rows(p, bin) : InSteps(place.Columns(p, bin), prepared.step);
    });
  }
  const auto across = static_cast<unsigned>(p.pooled_w);
  for (int64_t i = first; i < p.rois * across; i += threads) {
    const auto item = static_cast<unsigned>(i);  // of fewer than 2^31
    const Place place = PlaceOf(p, t.rois + int64_t{item / across} * 5);
    prepared.columns[i] = place.Columns(p, static_cast<int>(item % across));
  }
}

// What a block transposes: some channels of one roi, `bins` bins at a time.
constexpr int kStaged = 4096;
struct Chunks {
  int bins, channels;
  unsigned count;  // to a roi

  explicit Chunks(const Problem& p)
      : bins(static_cast<int>(std::min<int64_t>(p.bins(), kStaged))),
        channels(static_cast<int>(std::min<int64_t>(kStaged / bins, p.output_dim))),
        count(static_cast<unsigned>(CeilDiv(p.output_dim, channels))) {}
};

// The share of a bin that is empty, or of a roi on no image, is never read.
__device__ void WriteShares(const Problem& p, const Gradients& t, const Chunks& chunks,
                            unsigned block, float* shares) {
  __shared__ float grads[kStaged];
  __shared__ float areas[kStaged];
  const int64_t r = block / chunks.count, bins = p.bins();
  const auto c0 = static_cast<int>(block % chunks.count) * chunks.channels;
  const int channels = min(chunks.channels, static_cast<int>(p.output_dim) - c0);
  for (int64_t b0 = 0; b0 < bins; b0 += chunks.bins) {
    const auto width = static_cast<int>(min(int64_t{chunks.bins}, bins - b0));
    // Of several channels all bins are there: neighbours either way.
    const float* from = t.grad_output + r * p.channels() + c0 * bins + b0;
    for (int i = threadIdx.x; i < channels * width; i += kPrepareThreads) grads[i] = from[i];
    for (int b = threadIdx.x; b < width; b += kPrepareThreads) {
      const Place place = PlaceOf(p, t.rois + r * 5);
      const auto bin = static_cast<unsigned>(b0 + b), across = static_cast<unsigned>(p.pooled_w);
      const Range rows = place.Rows(p, static_cast<int>(bin / across));
      const Range columns = place.Columns(p, static_cast<int>(bin % across));
      areas[b] = static_cast<float>(rows.size() * columns.size());
    }
    __syncthreads();
    float* to = shares + (r * bins + b0) * p.output_dim + c0;
    for (int i = threadIdx.x; i < channels * width; i += kPrepareThreads) {
      const int b = i / channels, c = i % channels;
      to[b * p.output_dim + c] = grads[c * width + b] / areas[b];
    }
    __syncthreads();
  }
}

// The first blocks write the tables, the others a chunk each, which are no more than gradients:
// below 2^31.
constexpr unsigned kTableBlocks = 32;
__global__ void __launch_bounds__(kPrepareThreads)
    Prepare(Problem p, Gradients t, Chunks chunks, Prepared prepared) {
  if (blockIdx.x < kTableBlocks) {
    WriteTables(p, t, prepared, blockIdx.x, kTableBlocks);
  } else {
    WriteShares(p, t, chunks, blockIdx.x - kTableBlocks, prepared.shares);
  }
}

}  // namespace

void PrepareBackward(const Problem& p, const Gradients& t, const Prepared& prepared,
                     CudaContext& context) {
  const Chunks chunks(p);
  context.Launch(Prepare, Grid{p.rois * chunks.count + kTableBlocks, kPrepareThreads}, p, t, chunks,
                 prepared);
}

}  // namespace mluop::torchvision_ps_roi_pool
