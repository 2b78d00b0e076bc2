// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool backward on CUDA devices, but for small maps. The gradients are divided by
// the areas of their bins and transposed to [roi][bin][channel] first. Then a block owns one row of
// the map in the planes of one bin: a warp takes a pixel and adds the rois whose bin has it, in
// ascending order, its lanes over the channels. The sums go through shared memory to the planes,
// zeros included: no atomics, every sum in the order of the rois.
#include <algorithm>

#include "ops/torchvision_ps_roi_pool/cuda/backward.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

// Pixels of a warp, neighbours in a row: each share is loaded once for all of them. Of a small map,
// where warps are too few, one.
constexpr int kMostColumns = 4;

// What a block owns is a tile of so many columns and channels; a warp's lanes have all channels of
// it at once.
constexpr int kTileColumns = 64;
constexpr int kLaneChannels = 3;
constexpr int kMostChannels = 32 * kLaneChannels;

struct Tiles {
  int columns, channels;    // of a tile, but for the last ones
  unsigned across, slices;  // how many there are of each row and bin

  explicit Tiles(const Problem& p)
      : columns(static_cast<int>(std::min<int64_t>(p.w, kTileColumns))),
        channels(static_cast<int>(std::min<int64_t>(p.output_dim, kMostChannels))),
        across(static_cast<unsigned>(CeilDiv(p.w, columns))),
        slices(static_cast<unsigned>(CeilDiv(p.output_dim, channels))) {}

  // Of a channel in shared memory, where `step` columns are written at a time: an odd number of
  // such, so that those of neighbouring channels lie in different banks.
  __host__ __device__ int stride(int step) const {
    return (((columns + step - 1) / step) | 1) * step;
  }
};

struct Owned {
  int32_t row;  // counted through all images
  int bin;
  Range columns, channels;
};

__device__ Owned OwnedBy(const Problem& p, const Tiles& tiles, unsigned block) {
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

// A roi's shares under way.
struct Load {
  Range columns;
  float values[kLaneChannels];

  // shares: [R, bins, O] from the bin and the lane's first channel on
  __device__ void Start(const Problem& p, const float* __restrict__ shares,
                        const Range* __restrict__ columns_of, int channels, int r) {
    columns = columns_of[r * p.pooled_w];
    const float* from = shares + static_cast<unsigned>(r) * static_cast<unsigned>(p.channels());
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) values[i] = 32 * i < channels ? from[32 * i] : 0.0f;
  }
};

template <int kColumns>
using Sums = float[kLaneChannels][kColumns];

// Pixels x, x+1, ... of a bin and a lane's channels.
struct Task {
  const float* shares;
  const Range* columns_of;  // of the bin: [R, pooled_w]
  int x;
  int channels;
};

template <int kColumns>
__device__ void AddLoaded(const Load& load, int x, Sums<kColumns>& sums) {
#pragma unroll
  for (int k = 0; k < kColumns; ++k) {
    if (!load.columns.Has(x + k)) continue;
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) sums[i][k] += load.values[i];
  }
}

// Adds the shares of the hits in their order; the next one's are under way meanwhile.
template <int kColumns>
__device__ void AddHits(const Problem& p, const Task& task, RoiHits hits, Sums<kColumns>& sums) {
  int r = hits.Next();
  Load next;
  if (r >= 0) next.Start(p, task.shares, task.columns_of, task.channels, r);
  while (r >= 0) {
    const Load now = next;
    r = hits.Next();
    if (r >= 0) next.Start(p, task.shares, task.columns_of, task.channels, r);
    AddLoaded<kColumns>(now, task.x, sums);
  }
}

// For a small map, where there is little else to do meanwhile: several are under way.
constexpr int kLoads = 4;
template <>
__device__ void AddHits<1>(const Problem& p, const Task& task, RoiHits hits, Sums<1>& sums) {
  int r = 0;
  while (r >= 0) {
    Load loads[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      r = hits.Next();
      loads[i].columns = {0, 0};
      if (r >= 0) loads[i].Start(p, task.shares, task.columns_of, task.channels, r);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) AddLoaded<1>(loads[i], task.x, sums);
  }
}

// What the rois before have given, if any.
struct Before {
  const float* grad_input;  // of the row in the bin's first plane; NULL: nothing
  int64_t stride;           // between channels

  template <int kColumns>
  __device__ void Load(const Owned& own, int x, Sums<kColumns>& sums) const {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    for (int i = 0; i < kLaneChannels; ++i) {
      const int c = own.channels.begin + lane + 32 * i;
      for (int k = 0; k < kColumns; ++k) {
        const bool exists = c < own.channels.end && x + k < own.columns.end;
        sums[i][k] = exists ? grad_input[c * stride + x + k] : 0.0f;
      }
    }
  }
};

// Sums the tile, a warp to kColumns pixels.
template <int kColumns>
__device__ void SumTile(const Problem& p, const Prepared& prepared, const Owned& own,
                        const Before& before, int stride, float* tile) {
  const int lane = threadIdx.x % 32, ph = own.bin / p.pooled_w, pw = own.bin % p.pooled_w;
  const uint32_t* row = prepared.masks.Row(own.row, ph);
  const int words = prepared.masks.words;
  Task task = {prepared.shares + own.bin * p.output_dim + own.channels.begin + lane,
               prepared.columns + pw, 0, own.channels.size() - lane};
  for (task.x = own.columns.begin + kColumns * (threadIdx.x / 32); task.x < own.columns.end;
       task.x += kColumns * kWarps) {
    Sums<kColumns> sums = {};
    if (before.grad_input != nullptr) before.Load<kColumns>(own, task.x, sums);
    const uint32_t* column = prepared.masks.Column(task.x / kColumns, pw);
    for (int first = 0; first < words; first += 32) {
      AddHits<kColumns>(p, task, RoiHits(row, column, first, min(32, words - first)), sums);
    }
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) {
      if (32 * i >= task.channels) continue;
      float* to = tile + (lane + 32 * i) * stride + task.x - own.columns.begin;
      if constexpr (kColumns == 4) {
        *reinterpret_cast<float4*>(to) = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
      } else {
        *to = sums[i][0];
      }
    }
  }
}

__device__ void WriteTile(const Problem& p, const Owned& own, int stride, const float* tile,
                          float* grad_input) {
  const int64_t image = own.row / p.h, row = own.row % p.h;
  for (int c = threadIdx.x / 32; c < own.channels.size(); c += kWarps) {
    float* to = grad_input + p.Plane(image, own.channels.begin + c, own.bin) + row * p.w +
                own.columns.begin;
    for (int x = threadIdx.x % 32; x < own.columns.size(); x += 32) to[x] = tile[c * stride + x];
  }
}

// `add`: to what the rois before have given.
template <int kColumns>
__global__ void __launch_bounds__(kThreads)
    SumRows(Problem p, Prepared prepared, Tiles tiles, float* grad_input, bool add) {
  extern __shared__ float4 aligned[];  // [tiles.channels, stride] floats
  auto* tile = reinterpret_cast<float*>(aligned);
  const Owned own = OwnedBy(p, tiles, blockIdx.x);
  const int64_t image = own.row / p.h, row = own.row % p.h;
  const Before before = {add ? grad_input + p.Plane(image, 0, own.bin) + row * p.w : nullptr,
                         p.bins() * p.pixels()};
  SumTile<kColumns>(p, prepared, own, before, tiles.stride(kColumns), tile);
  __syncthreads();
  WriteTile(p, own, tiles.stride(kColumns), tile, grad_input);
}

RoiMasks MasksOf(const Problem& p, int step) {
  return {p.rois, p.n * p.h, CeilDiv(p.w, step), p.pooled_h, p.pooled_w};
}

size_t ColumnBytes(const Problem& p) {
  return AlignedBytes(sizeof(Range) * static_cast<size_t>(p.rois * p.pooled_w));
}

// scratch: masks, columns, shares
void AddRois(const Problem& p, const Gradients& t, bool add, char* scratch, CudaContext& context) {
  const Tiles tiles(p);
  // No more blocks than elements of the map: below 2^31.
  const int64_t blocks = p.n * p.h * p.bins() * tiles.across * tiles.slices;
  const int step = blocks >= int64_t{8} * context.sm_count() ? kMostColumns : 1;
  RoiMasks masks = MasksOf(p, step);
  masks.data = reinterpret_cast<uint32_t*>(scratch);
  char* columns = scratch + masks.Bytes();
  const Prepared prepared = {step, masks, reinterpret_cast<Range*>(columns),
                             reinterpret_cast<float*>(columns + ColumnBytes(p))};
  if (p.rois > 0) PrepareBackward(p, t, prepared, context);
  const auto floats = static_cast<size_t>(tiles.channels) * static_cast<size_t>(tiles.stride(step));
  context.Launch(step == 1 ? SumRows<1> : SumRows<kMostColumns>,
                 Grid{blocks, kThreads, sizeof(float) * floats}, p, prepared, tiles, t.grad_input,
                 add);
}

}  // namespace

mluOpStatus_t BackwardCuda(const Arguments& a, CudaContext& context) {
  Problem p = MakeProblem(a);
  Gradients t = {a.In<float>("grad_output"), a.In<float>("rois"), a.Out<float>("grad_input")};
  if (BackwardSmall(p, t, context)) return context.status();
  const int64_t rois = p.rois;
  p.rois = std::min(rois, MasksOf(p, 1).RoisAtATime());
  auto* scratch = static_cast<char*>(
      context.Scratch(MasksOf(p, 1).Bytes() + ColumnBytes(p) +
                      sizeof(float) * static_cast<size_t>(p.rois * p.channels())));
  int64_t done = 0;
  do {  // zeros without rois
    Problem part = p;
    part.rois = std::min(p.rois, rois - done);
    AddRois(part, t, done > 0, scratch, context);
    t.grad_output += p.rois * p.channels();
    t.rois += p.rois * 5;
    done += p.rois;
  } while (done < rois);
  return context.status();
}

}  // namespace mluop::torchvision_ps_roi_pool
