// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool backward on CUDA devices. The gradients are divided by the areas of their
// bins and transposed to [roi][bin][channel] first. Then a block owns one row of the map in the
// planes of one bin: it lists the rois whose bin has the row, in ascending order, and a warp takes
// a pixel and adds those whose bin has it, its lanes over the channels. The sums go through shared
// memory to the planes, zeros included: no atomics, every sum in the order of the rois.
#include <algorithm>

#include "ops/torchvision_ps_roi_pool/cuda.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kWholeWarp = 0xffffffffu;

struct Gradients {
  const float* grad_output;  // [R, O, bins]
  const float* rois;         // [R, 5]
  float* grad_input;         // [N, O, bins, H, W]
};

// What the second kernel reads.
struct Prepared {
  SpanTable table;
  float* shares;  // [R, bins, O]
};

// Squares of [O, bins] that are transposed.
constexpr int kSquare = 32;
struct Squares {
  unsigned down, across;

  __host__ __device__ explicit Squares(const Problem& p)
      : down(static_cast<unsigned>((p.output_dim + kSquare - 1) / kSquare)),
        across(static_cast<unsigned>((p.bins() + kSquare - 1) / kSquare)) {}
};

__device__ float AreaOf(const Problem& p, const Place& place, int64_t bin) {
  const Span rows = BinSpan(place.y, static_cast<int>(bin / p.pooled_w), p.h);
  const Span columns = BinSpan(place.x, static_cast<int>(bin % p.pooled_w), p.w);
  return static_cast<float>(rows.size() * columns.size());
}

// A square of one roi. The share of a bin that is empty, or of a roi on no image, is never read.
__device__ void WriteShares(const Problem& p, const Gradients& t, unsigned square, float* shares) {
  __shared__ float grads[kSquare][kSquare + 1];
  __shared__ float areas[kSquare];
  const Squares squares(p);
  const int64_t bin0 = square % squares.across * kSquare;
  const int64_t c0 = square / squares.across % squares.down * kSquare;
  const int64_t r = square / squares.across / squares.down;
  const int lane = threadIdx.x % kSquare, first = threadIdx.x / kSquare;
  const float* from = t.grad_output + r * p.channels();
#pragma unroll
  for (int i = first; i < kSquare; i += kWarps) {
    if (c0 + i < p.output_dim && bin0 + lane < p.bins()) {
      grads[i][lane] = from[(c0 + i) * p.bins() + bin0 + lane];
    }
  }
  if (first == 0 && bin0 + lane < p.bins()) {
    areas[lane] = AreaOf(p, PlaceOf(p, t.rois + r * 5), bin0 + lane);
  }
  __syncthreads();
  float* to = shares + r * p.channels();
#pragma unroll
  for (int i = first; i < kSquare; i += kWarps) {
    if (bin0 + i < p.bins() && c0 + lane < p.output_dim) {
      to[(bin0 + i) * p.output_dim + c0 + lane] = grads[lane][i] / areas[i];
    }
  }
}

// A square to a block, which are no more than gradients: below 2^31.
__global__ void __launch_bounds__(kThreads) Prepare(Problem p, Gradients t, Prepared prepared) {
  WriteSpans(p, t.rois, prepared.table);
  WriteShares(p, t, blockIdx.x, prepared.shares);
}

// What a block owns is a tile of so many columns and channels; a warp's lanes have all channels of
// it at once.
constexpr int kMostColumns = 64;
constexpr int kLaneChannels = 3;
constexpr int kMostChannels = 32 * kLaneChannels;

struct Tiles {
  int columns, channels;    // of a tile, but for the last ones
  unsigned across, slices;  // how many there are of each row and bin

  explicit Tiles(const Problem& p)
      : columns(static_cast<int>(std::min<int64_t>(p.w, kMostColumns))),
        channels(static_cast<int>(std::min<int64_t>(p.output_dim, kMostChannels))),
        across(static_cast<unsigned>(CeilDiv(p.w, columns))),
        slices(static_cast<unsigned>(CeilDiv(p.output_dim, channels))) {}

  // Of a channel in shared memory. Odd, so that the channels of a pixel lie in different banks.
  __host__ __device__ int stride() const { return columns | 1; }
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

// Rois whose bin has the row and some of the columns, in ascending order.
constexpr int kListed = 2 * kThreads;
struct List {
  int32_t rois[kListed];
  Range columns[kListed];
  int warp_counts[kWarps];
};

// Appends a roi of each thread that has one, in the order of the threads. Returns the new length of
// the list. All threads come here. Ends with a barrier.
__device__ int Append(List& list, int length, bool has, int32_t roi, Range columns) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned having = __ballot_sync(kWholeWarp, has);
  if (lane == 0) list.warp_counts[warp] = __popc(having);
  __syncthreads();
  int before = length, total = length;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    if (i == warp) before = total;
    total += list.warp_counts[i];
  }
  if (has) {
    const int at = before + __popc(having & ((1u << lane) - 1));
    list.rois[at] = roi;
    list.columns[at] = columns;
  }
  __syncthreads();
  return total;
}

// Rois whose shares are under way at a time.
constexpr int kLoads = 2;

// Adds the shares of the lanes' rois to `sums`, those in `hits` from lane 0 on. Zeros past the last
// one change no bit: a sum that began with 0 is never -0.
__device__ void AddHits(const Problem& p, const float* __restrict__ shares, const Owned& own,
                        unsigned hits, int32_t roi, float* sums) {
  const int lane = threadIdx.x % 32;
  while (hits != 0) {
    float values[kLoads][kLaneChannels];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const bool is_hit = hits != 0;
      const int from_lane = is_hit ? __ffs(static_cast<int>(hits)) - 1 : 0;
      hits &= hits - 1;  // 0 stays 0
      const int64_t r = __shfl_sync(kWholeWarp, roi, from_lane);
      const float* from = shares + (r * p.bins() + own.bin) * p.output_dim;
#pragma unroll
      for (int i = 0; i < kLaneChannels; ++i) {
        const int c = own.channels.begin + lane + 32 * i;
        values[k][i] = is_hit && c < own.channels.end ? from[c] : 0.0f;
      }
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
#pragma unroll
      for (int i = 0; i < kLaneChannels; ++i) sums[i] += values[k][i];
    }
  }
}

// Adds the listed rois to the tile, a warp to a pixel.
__device__ void AddRois(const Problem& p, const float* shares, const Owned& own, const List& list,
                        int length, int stride, float* tile) {
  const int lane = threadIdx.x % 32;
  for (int x = own.columns.begin + threadIdx.x / 32; x < own.columns.end; x += kWarps) {
    float* pixel = tile + x - own.columns.begin;
    float sums[kLaneChannels];
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) {
      const int c = lane + 32 * i;
      sums[i] = c < own.channels.size() ? pixel[c * stride] : 0.0f;
    }
    for (int i = 0; i < length; i += 32) {
      const bool hit = i + lane < length && list.columns[i + lane].Has(x);
      const unsigned hits = __ballot_sync(kWholeWarp, hit);
      if (hits == 0) continue;
      AddHits(p, shares, own, hits, hit ? list.rois[i + lane] : 0, sums);
    }
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) {
      const int c = lane + 32 * i;
      if (c < own.channels.size()) pixel[c * stride] = sums[i];
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

__global__ void __launch_bounds__(kThreads)
    SumRows(Problem p, Prepared prepared, Tiles tiles, float* __restrict__ grad_input) {
  extern __shared__ float tile[];  // [tiles.channels, stride]
  __shared__ List list;
  const Owned own = OwnedBy(p, tiles, blockIdx.x);
  const int stride = tiles.stride(), ph = own.bin / p.pooled_w, pw = own.bin % p.pooled_w;
  for (int i = threadIdx.x; i < tiles.channels * stride; i += kThreads) tile[i] = 0;
  __syncthreads();
  int length = 0;
  for (int64_t first = 0; first < p.rois; first += kThreads) {
    const int64_t r = first + threadIdx.x;
    bool has = false;
    Range columns = {0, 0};
    if (r < p.rois && prepared.table.Rows(ph, r).Has(own.row)) {
      columns = prepared.table.Columns(pw, r);
      has =
          columns.begin < own.columns.end && columns.end > own.columns.begin && columns.size() > 0;
    }
    length = Append(list, length, has, static_cast<int32_t>(r), columns);
    if (length + kThreads <= kListed && first + kThreads < p.rois) continue;
    AddRois(p, prepared.shares, own, list, length, stride, tile);
    length = 0;
    __syncthreads();
  }
  WriteTile(p, own, stride, tile, grad_input);
}

}  // namespace

mluOpStatus_t BackwardCuda(const Arguments& a, CudaContext& context) {
  const Problem p = MakeProblem(a);
  const Gradients t = {a.In<float>("grad_output"), a.In<float>("rois"), a.Out<float>("grad_input")};
  const size_t table_bytes = SpanTable::Bytes(p);
  char* scratch =
      static_cast<char*>(context.Scratch(table_bytes + a.Tensor("grad_output").ByteCount()));
  const Prepared prepared = {SpanTable(p, scratch),
                             reinterpret_cast<float*>(scratch + table_bytes)};
  const Squares squares(p);
  context.Launch(Prepare, Grid{p.rois * squares.down * squares.across, kThreads}, p, t, prepared);
  const Tiles tiles(p);
  const auto floats = static_cast<size_t>(tiles.channels) * static_cast<size_t>(tiles.stride());
  // No more blocks than elements of the map: below 2^31.
  context.Launch(
      SumRows,
      Grid{p.n * p.h * p.bins() * tiles.across * tiles.slices, kThreads, sizeof(float) * floats}, p,
      prepared, tiles, t.grad_input);
  return context.status();
}

}  // namespace mluop::torchvision_ps_roi_pool
