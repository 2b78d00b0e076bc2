// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool backward on CUDA devices: the implementation table, and the
// implementation "masks". A first kernel writes, per map row and column group, a bit mask of the
// RoIs that cover it (roi_masks.h). It also divides the gradients by the areas of their bins,
// transposed to [roi][bin][channel]. Then a block owns one row of the map in the planes of one bin:
// a warp owns four pixels and adds the RoIs in ascending order, its lanes over the channels. The
// sums go through shared memory to the planes, zeros included: no atomics.
#include <algorithm>

#include "ops/roi/cuda/roi_masks.h"
#include "ops/torchvision_ps_roi_pool/cuda/kernels.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

using roi::RoiHits;
using roi::RoiMasks;

constexpr int kPrepareThreads = 512;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

// Pixels of a warp, neighbours in a row: each scaled gradient is loaded once for all of them.
constexpr int kColumns = RoiMasks::kColumns;

// Output of the first kernel.
struct Prepared {
  RoiMasks masks;
  Span* columns;        // [R, pooled_w]
  float* scaled_grads;  // [R, bins, O]
};

// Writes the masks and the columns. The caller is block `block` of `blocks`.
__device__ void WriteTables(const Problem& p, const Gradients& t, const Prepared& prepared,
                            int64_t block, int64_t blocks) {
  const int64_t first = block * kPrepareThreads + threadIdx.x, threads = blocks * kPrepareThreads;
  for (int64_t i = first / 32; i < prepared.masks.Items(); i += threads / 32) {
    prepared.masks.Write(p, i, [&](int64_t r) { return PlaceRoi(p, t.rois + r * 5); });
  }
  const auto across = static_cast<unsigned>(p.pooled_w);
  for (int64_t i = first; i < p.rois * across; i += threads) {
    const auto item = static_cast<unsigned>(i);  // fewer than 2^31
    const Place place = PlaceRoi(p, t.rois + int64_t{item / across} * 5);
    prepared.columns[i] = place.Columns(p, static_cast<int>(item % across));
  }
}

// Chunk of one RoI's gradients that a block transposes: some channels of one RoI, `bins` bins at a
// time.
constexpr int kStaged = 4096;
struct Chunks {
  int bins, channels;
  unsigned count;  // of a RoI

  explicit Chunks(const Problem& p)
      : bins(static_cast<int>(std::min<int64_t>(p.bins(), kStaged))),
        channels(static_cast<int>(std::min<int64_t>(kStaged / bins, p.output_dim))),
        count(static_cast<unsigned>(CeilDiv(p.output_dim, channels))) {}
};

// The scaled gradient of an empty bin is never read.
__device__ void WriteScaledGrads(const Problem& p, const Gradients& t, const Chunks& chunks,
                                 unsigned block, float* scaled_grads) {
  __shared__ float grads[kStaged];
  __shared__ float areas[kStaged];
  const int64_t r = block / chunks.count, bins = p.bins();
  const auto c0 = static_cast<int>(block % chunks.count) * chunks.channels;
  const int channels = min(chunks.channels, static_cast<int>(p.output_dim) - c0);
  for (int64_t b0 = 0; b0 < bins; b0 += chunks.bins) {
    const auto width = static_cast<int>(min(int64_t{chunks.bins}, bins - b0));
    // A chunk of several channels has all bins: it is contiguous either way.
    const float* from = t.grad_output + r * p.channels() + c0 * bins + b0;
    for (int i = threadIdx.x; i < channels * width; i += kPrepareThreads) grads[i] = from[i];
    for (int b = threadIdx.x; b < width; b += kPrepareThreads) {
      const Place place = PlaceRoi(p, t.rois + r * 5);
      const auto bin = static_cast<unsigned>(b0 + b), across = static_cast<unsigned>(p.pooled_w);
      const Span rows = place.Rows(p, static_cast<int>(bin / across));
      const Span columns = place.Columns(p, static_cast<int>(bin % across));
      areas[b] = static_cast<float>(rows.size() * columns.size());
    }
    __syncthreads();
    float* to = scaled_grads + (r * bins + b0) * p.output_dim + c0;
    for (int i = threadIdx.x; i < channels * width; i += kPrepareThreads) {
      const int b = i / channels, c = i % channels;
      to[b * p.output_dim + c] = grads[c * width + b] / areas[b];
    }
    __syncthreads();
  }
}

// The first blocks write the tables, the others a chunk each. There are no more chunks than gradients:
// below 2^31.
constexpr unsigned kTableBlocks = 32;
__global__ void __launch_bounds__(kPrepareThreads)
    Prepare(Problem p, Gradients t, Chunks chunks, Prepared prepared) {
  if (blockIdx.x < kTableBlocks) {
    WriteTables(p, t, prepared, blockIdx.x, kTableBlocks);
  } else {
    WriteScaledGrads(p, t, chunks, blockIdx.x - kTableBlocks, prepared.scaled_grads);
  }
}

// A block owns a tile of columns and channels; the lanes of a warp cover all channels of it at once.
constexpr int kTileColumns = 64;
constexpr int kLaneChannels = 3;
constexpr int kMaxChannels = 32 * kLaneChannels;

struct Tiles {
  int columns, channels;    // of a tile; the last ones may have fewer
  unsigned across, slices;  // tiles per row, slices per bin

  explicit Tiles(const Problem& p)
      : columns(static_cast<int>(std::min<int64_t>(p.w, kTileColumns))),
        channels(static_cast<int>(std::min<int64_t>(p.output_dim, kMaxChannels))),
        across(static_cast<unsigned>(CeilDiv(p.w, columns))),
        slices(static_cast<unsigned>(CeilDiv(p.output_dim, channels))) {}

  // Floats of a channel in shared memory: an odd multiple of kColumns spreads neighbouring channels
  // over the banks.
  __host__ __device__ int stride() const {
    return (((columns + kColumns - 1) / kColumns) | 1) * kColumns;
  }
};

struct SumTile {
  int32_t row;  // counted through all images
  int bin;
  Span columns, channels;
};

__device__ SumTile TileOf(const Problem& p, const Tiles& tiles, unsigned block) {
  const int slice = static_cast<int>(block % tiles.slices) * tiles.channels;
  block /= tiles.slices;
  const int column = static_cast<int>(block % tiles.across) * tiles.columns;
  block /= tiles.across;
  const auto bins = static_cast<unsigned>(p.bins());
  const auto w = static_cast<int>(p.w), output_dim = static_cast<int>(p.output_dim);
  return {static_cast<int32_t>(block / bins),
          static_cast<int>(block % bins),
          {column, min(column + tiles.columns, w)},
          {slice, min(slice + tiles.channels, output_dim)}};
}

// A RoI's scaled gradients in flight.
struct LoadedScaledGrads {
  Span columns;
  float values[kLaneChannels];

  // scaled_grads: [R, bins, O] from the bin and the lane's first channel on
  __device__ void Start(const Problem& p, const float* __restrict__ scaled_grads,
                        const Span* __restrict__ columns_of, int channels, int r) {
    columns = columns_of[r * p.pooled_w];
    const float* from =
        scaled_grads + static_cast<unsigned>(r) * static_cast<unsigned>(p.channels());
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) values[i] = 32 * i < channels ? from[32 * i] : 0.0f;
  }

  __device__ void AddTo(int x, float (&sums)[kLaneChannels][kColumns]) const {
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      if (!columns.Has(x + k)) continue;
#pragma unroll
      for (int i = 0; i < kLaneChannels; ++i) sums[i][k] += values[i];
    }
  }
};

// The sums of a lane's channels and a warp's pixels.
using Sums = float[kLaneChannels][kColumns];

// Sums a tile; a warp owns kColumns pixels at a time.
__device__ void SumPixels(const Problem& p, const Prepared& prepared, const SumTile& tile,
                          int stride, float* shared) {
  const int lane = threadIdx.x % 32, ph = tile.bin / p.pooled_w, pw = tile.bin % p.pooled_w;
  const uint32_t* row = prepared.masks.Row(tile.row, ph);
  const int words = prepared.masks.words, channels = tile.channels.size() - lane;
  const float* scaled_grads =
      prepared.scaled_grads + tile.bin * p.output_dim + tile.channels.begin + lane;
  const Span* columns = prepared.columns + pw;
  for (int x = tile.columns.begin + kColumns * (threadIdx.x / 32); x < tile.columns.end;
       x += kColumns * kWarps) {
    Sums sums = {};
    const uint32_t* column = prepared.masks.Column(x / kColumns, pw);
    for (int first = 0; first < words; first += 32) {
      roi::ForEachHit<LoadedScaledGrads>(
          RoiHits(row, column, first, min(32, words - first)),
          [&](int r, LoadedScaledGrads* loaded) {
            loaded->Start(p, scaled_grads, columns, channels, r);
          },
          [&](const LoadedScaledGrads& loaded) { loaded.AddTo(x, sums); });
    }
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) {
      if (32 * i >= channels) continue;
      float* to = shared + (lane + 32 * i) * stride + x - tile.columns.begin;
      *reinterpret_cast<float4*>(to) = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
    }
  }
}

__device__ void WriteTile(const Problem& p, const SumTile& tile, int stride, const float* shared,
                          bool add, float* grad_input) {
  const int64_t image = tile.row / p.h, row = tile.row % p.h;
  for (int c = threadIdx.x / 32; c < tile.channels.size(); c += kWarps) {
    float* to = grad_input + p.Plane(image, tile.channels.begin + c, tile.bin) + row * p.w +
                tile.columns.begin;
    for (int x = threadIdx.x % 32; x < tile.columns.size(); x += 32) {
      const float sum = shared[c * stride + x];
      to[x] = add ? to[x] + sum : sum;
    }
  }
}

// `add`: adds to the sums of earlier passes instead of overwriting them.
__global__ void __launch_bounds__(kThreads)
    SumRows(Problem p, Prepared prepared, Tiles tiles, float* grad_input, bool add) {
  extern __shared__ float4 aligned[];  // [tiles.channels, stride] floats
  auto* shared = reinterpret_cast<float*>(aligned);
  const SumTile tile = TileOf(p, tiles, blockIdx.x);
  SumPixels(p, prepared, tile, tiles.stride(), shared);
  __syncthreads();
  WriteTile(p, tile, tiles.stride(), shared, add, grad_input);
}

RoiMasks MasksOf(const Problem& p) { return {p.rois, p.n * p.h, p.w, p.pooled_h, p.pooled_w}; }

size_t ColumnBytes(const Problem& p) {
  return AlignedBytes(sizeof(Span) * static_cast<size_t>(p.rois * p.pooled_w));
}

// Adds the RoIs of one pass. scratch: masks, columns, scaled gradients
void AddPass(const Problem& p, const Gradients& t, bool add, char* scratch, CudaContext& context) {
  const Tiles tiles(p);
  RoiMasks masks = MasksOf(p);
  masks.data = reinterpret_cast<uint32_t*>(scratch);
  char* columns = scratch + masks.Bytes();
  const Prepared prepared = {masks, reinterpret_cast<Span*>(columns),
                             reinterpret_cast<float*>(columns + ColumnBytes(p))};
  if (p.rois > 0) {
    const Chunks chunks(p);
    context.Launch(Prepare, Grid{p.rois * chunks.count + kTableBlocks, kPrepareThreads}, p, t,
                   chunks, prepared);
  }
  // No more blocks than elements of the map: below 2^31.
  const int64_t blocks = p.n * p.h * p.bins() * tiles.across * tiles.slices;
  const auto floats = static_cast<size_t>(tiles.channels) * static_cast<size_t>(tiles.stride());
  context.Launch(SumRows, Grid{blocks, kThreads, sizeof(float) * floats}, p, prepared, tiles,
                 t.grad_input, add);
}

Problem PassOf(Problem p) {
  p.rois = std::min(p.rois, MasksOf(p).RoisOfPass());
  return p;
}

size_t MaskBytes(const CudaCall<Problem>& call) {
  const Problem p = PassOf(call.p);
  return MasksOf(p).Bytes() + ColumnBytes(p) +
         sizeof(float) * static_cast<size_t>(p.rois * p.channels());
}

mluOpStatus_t RunMasks(const CudaCall<Problem>& call, void* scratch) {
  Gradients t(call.arguments);
  Problem p = PassOf(call.p);
  const int64_t rois = p.rois;
  // Without RoIs one pass writes zeros.
  for (int64_t first = 0; first == 0 || first < call.p.rois; first += rois) {
    p.rois = std::min(rois, call.p.rois - first);
    AddPass(p, t, first > 0, static_cast<char*>(scratch), call.context);
    t.grad_output += rois * p.channels();
    t.rois += rois * 5;
    if (rois == 0) break;
  }
  return call.context.status();
}

constexpr CudaImplementation<Problem> kBackward[] = {
    {"small_map", "at most 1024 pixels and 1024 RoIs, and few blocks", SmallMapApplies, nullptr,
     RunSmallMap},
    {"masks", "tensors have fewer than 2^31 elements", IsSmall, MaskBytes, RunMasks},
    CudaImplementation<Problem>::ForDouble(RunDoubleBackward, DoubleBackwardBytes),
};

}  // namespace

constexpr CudaOperator kBackwardCuda =
    Bind<MakeProblem, kBackward>("torchvision_ps_roi_pool_backward");

}  // namespace mluop::torchvision_ps_roi_pool
