// SPDX-License-Identifier: Apache-2.0
// The gradient of a map of pooled RoIs on CUDA devices, without atomics. A first kernel writes bit
// masks of RoIs and scaled gradients (scaled_grads.h). Then a block owns a tile of one row of the
// map and writes its sums once, zeros included. A warp owns a bin and four pixels, its lanes the
// output channels. It adds the RoIs in ascending order and loads each scaled gradient once for all
// pixels. The sums go through shared memory, so that stores are coalesced in both layouts.
//
// A Family has kPartWords, the words of a mask that make a part of a sum (at most 32); kAddsParts:
// the sum is the sum of the parts, otherwise one chain of additions; kHasMapping: the call has a
// mapping, which may differ from forward's; Scale(gradient, area); Gradients<T>(call), which returns
// PooledGradients<T>.
#pragma once

#include <algorithm>

#include "cuda/pdl.h"
#include "cuda/ptx.h"
#include "ops/roi/cuda/custom_mapping.h"
#include "ops/roi/cuda/scaled_grads.h"

namespace mluop::roi {

// Sizes of a tile. Its elements are contiguous runs of the map: in NCHW `columns` of a channel of
// one bin, in NHWC all channels of a column.
struct SumTiles {
  int columns, bins, channels;
  unsigned across, bin_tiles, channel_tiles;  // tiles of a row
  int stride;                                 // of a run in shared memory

  // kMaxSharedBytes of a block let three blocks fit an SM of large devices.
  template <class Problem>
  SumTiles(const Problem& p, bool is_nchw, size_t element_bytes, size_t shared_bytes) {
    constexpr int kMaxColumns = 64, kMaxChannels = 96;
    constexpr size_t kMaxSharedBytes = 66 << 10;
    const int64_t all_bins = p.bins(), output_dim = p.output_dim;
    const auto most = static_cast<int64_t>(std::min(shared_bytes, kMaxSharedBytes) /
                                           (element_bytes * RoiMasks::kColumns)) -
                      16;
    columns = is_nchw ? static_cast<int>(std::min<int64_t>(p.w, kMaxColumns)) : RoiMasks::kColumns;
    bins = is_nchw ? 1 : static_cast<int>(std::min(all_bins, most));
    const int64_t most_channels = is_nchw ? kMaxChannels : bins < all_bins ? 1 : most / bins;
    const int64_t slices = CeilDiv(output_dim, most_channels);
    channels = static_cast<int>(is_nchw ? std::min(output_dim, most_channels)
                                        : CeilDiv(output_dim, slices));
    across = static_cast<unsigned>(CeilDiv(p.w, columns));
    bin_tiles = static_cast<unsigned>(CeilDiv(all_bins, bins));
    channel_tiles = static_cast<unsigned>(CeilDiv(output_dim, channels));
    // An odd number of quads spreads the channels of NCHW over the banks, an odd number of floats
    // the pixels of NHWC.
    const auto quads = static_cast<int>(CeilDiv(columns, RoiMasks::kColumns));
    stride = is_nchw ? (quads | 1) * RoiMasks::kColumns : (bins * channels) | 1;
  }

  int64_t OfRow() const { return int64_t{across} * bin_tiles * channel_tiles; }
  size_t SharedBytes(bool is_nchw, size_t element_bytes) const {
    return element_bytes * static_cast<size_t>(stride) *
           static_cast<size_t>(is_nchw ? channels : columns);
  }
};

#if defined(__CUDACC__)

template <bool kNchw>
struct SumLaunch {
  // Ten warps for NHWC: with 49 bins, nine warps process five bins each and one processes four.
  static constexpr int kThreads = kNchw ? 256 : 320;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kRunWarps = kNchw ? 1 : kWarps;  // that store a run
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  static constexpr int kBlocks = kNchw ? 3 : 2;
#else
  static constexpr int kBlocks = kNchw ? 4 : 3;  // per SM
#endif
};

struct SumTile {
  int32_t row;  // counted through all images
  Span columns, bins, channels;

  template <class Problem>
  __device__ SumTile(const Problem& p, const SumTiles& tiles, unsigned i) {
    const auto take = [&](unsigned count, int size, int64_t end) {
      const int begin = static_cast<int>(i % count) * size;
      i /= count;
      return Span{begin, static_cast<int>(min(int64_t{begin} + size, end))};
    };
    channels = take(tiles.channel_tiles, tiles.channels, p.output_dim);
    columns = take(tiles.across, tiles.columns, p.w);
    bins = take(tiles.bin_tiles, tiles.bins, p.bins());
    row = static_cast<int32_t>(i);
  }

  // Runs, their length, and the place of an element: run * stride + position.
  template <bool kNchw>
  __device__ int Runs() const {
    return kNchw ? channels.size() : columns.size();
  }
  template <bool kNchw>
  __device__ int Length() const {
    return kNchw ? columns.size() : channels.size() * bins.size();
  }
  template <bool kNchw>
  __device__ int Place(int column, int bin, int channel, int stride) const {
    const int x = column - columns.begin, c = channel - channels.begin;
    return kNchw ? c * stride + x : x * stride + c * bins.size() + bin - bins.begin;
  }
};

// Channels c, c+32, c+64 of a lane: the 81 classes of COCO in one pass.
inline constexpr int kLaneChannels = 3;
// More hits in flight are faster where all RoIs lie on one object, and slower elsewhere. 2, 3, 4 hits
// in NHWC: 45, 46, 48 us with uniform RoIs, 90, 86, 85 us with one object; in NCHW 42, 42, 46 and
// 82, 73, 79 us (38x63x3969, 300 RoIs, H200).
inline constexpr int kHitsInFlight = 3;

template <typename T>
using LaneSums = T[RoiMasks::kColumns][kLaneChannels];

// A RoI's scaled gradients in flight, and the columns of its bin.
template <typename T>
struct LoadedGrads {
  Span columns;
  T values[kLaneChannels];

  // Starts to load `channels` channels or all of the lane's.
  __device__ void Start(const Span& columns_of_bin, const T* grads, int channels) {
    columns = columns_of_bin;
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) values[i] = 32 * i < channels ? grads[32 * i] : T{0};
  }
  // Adds to the sums of the pixels from column x on.
  __device__ void AddTo(int x, LaneSums<T>& sums) const {
#pragma unroll
    for (int k = 0; k < RoiMasks::kColumns; ++k) {
      if (!columns.Has(x + k)) continue;
#pragma unroll
      for (int i = 0; i < kLaneChannels; ++i) sums[k][i] += values[i];
    }
  }
};

// Stores the sums of kColumns pixels to shared memory, in NCHW as vectors of 16 bytes.
template <bool kNchw, typename T>
__device__ void StoreColumns(const T (&values)[RoiMasks::kColumns], int stride, T* to) {
  struct alignas(16) Quad {
    T at[RoiMasks::kColumns];
  };
  if (kNchw) {
    *reinterpret_cast<Quad*>(to) = {values[0], values[1], values[2], values[3]};
  } else {
#pragma unroll
    for (int k = 0; k < RoiMasks::kColumns; ++k) to[k * stride] = values[k];
  }
}

// Writes the sums of one bin and the pixels from column x on to shared memory; the lane's channels
// are c, c+32, c+64.
template <class Family, bool kNchw, class Problem, typename T>
__device__ void SumPixels(const Problem& p, const Prepared<T>& prepared, const SumTile& tile,
                          int stride, int bin, int x, int c, T* shared) {
  constexpr int kColumns = RoiMasks::kColumns;
  const int bins_w = p.bins_w(), ph = bin / bins_w, pw = bin - ph * bins_w,
            words = prepared.masks.words;
  const uint32_t* row = prepared.masks.Row(tile.row, ph);
  const uint32_t* column = prepared.masks.Column(x / kColumns, pw);
  // A pass has fewer than 2^31 elements.
  const unsigned all_channels = static_cast<unsigned>(p.channels()),
                 offset = static_cast<unsigned>(bin) * static_cast<unsigned>(p.output_dim) + c;
  LaneSums<T> sums = {};
  for (int first = 0;; first += Family::kPartWords) {
    ForEachHit<kHitsInFlight, LoadedGrads<T>>(
        RoiHits(row, column, first, min(Family::kPartWords, words - first)),
        [&](int r, LoadedGrads<T>* loaded) {
          loaded->Start(prepared.columns[r * bins_w + pw],
                        prepared.scaled_grads + (static_cast<unsigned>(r) * all_channels + offset),
                        tile.channels.end - c);
        },
        [&](const LoadedGrads<T>& loaded) { loaded.AddTo(x, sums); });
    const bool last = first + Family::kPartWords >= words;
    if (!last && !Family::kAddsParts) continue;
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) {
      if (c + 32 * i >= tile.channels.end) continue;
      T* to = shared + tile.Place<kNchw>(x, bin, c + 32 * i, stride);
      T values[kColumns];
#pragma unroll
      for (int k = 0; k < kColumns; ++k) {
        values[k] = sums[k][i];
        if (Family::kAddsParts && first > 0) values[k] += to[kNchw ? k : k * stride];
        sums[k][i] = 0;
      }
      StoreColumns<kNchw>(values, stride, to);
    }
    if (last) break;
  }
}

// `add`: adds to the sums of earlier passes instead of overwriting them.
template <class Family, bool kNchw, class Problem, typename T>
__global__ void __launch_bounds__(SumLaunch<kNchw>::kThreads, SumLaunch<kNchw>::kBlocks)
    SumTilesOf(Problem p, Prepared<T> prepared, SumTiles tiles, T* map, bool add) {
  using Launch = SumLaunch<kNchw>;
  T* const shared = DynamicShared<T>();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, stride = tiles.stride;
  TriggerDependents();
  WaitForPredecessor();
  const SumTile tile(p, tiles, blockIdx.x);
  const int groups = (tile.columns.size() + RoiMasks::kColumns - 1) / RoiMasks::kColumns;
  for (int i = warp; i < (kNchw ? groups : tile.bins.size()); i += Launch::kWarps) {
    const int bin = tile.bins.begin + (kNchw ? 0 : i);
    const int x = tile.columns.begin + (kNchw ? i * RoiMasks::kColumns : 0);
    for (int c = tile.channels.begin; c < tile.channels.end; c += 32 * kLaneChannels) {
      SumPixels<Family, kNchw>(p, prepared, tile, stride, bin, x, c + lane, shared);
    }
  }
  __syncthreads();
  const int64_t image = tile.row / p.h, y = tile.row % p.h;
  for (int run = warp / Launch::kRunWarps; run < tile.Runs<kNchw>();
       run += Launch::kWarps / Launch::kRunWarps) {
    const int64_t x = tile.columns.begin + (kNchw ? 0 : run);
    const int64_t c = tile.channels.begin + (kNchw ? run : 0);
    T* to = map + ElementLayout<kNchw>::Map(p, image, y * p.w + x, c * p.bins() + tile.bins.begin);
#pragma unroll 4
    for (int i = warp % Launch::kRunWarps * 32 + lane; i < tile.Length<kNchw>();
         i += 32 * Launch::kRunWarps) {
      const T sum = shared[run * stride + i];
      to[i] = add ? to[i] + sum : sum;
    }
  }
}

// Limits the RoIs to one pass: its gradients have fewer than 2^31 elements.
template <class Problem>
Problem PassOf(Problem p) {
  const int64_t most = std::max<int64_t>((kSmallLimit - 1) / p.channels(), 1);
  p.rois = std::min({int64_t{p.rois}, RoiMasks::Of(p).RoisOfPass(), most});
  return p;
}

// Blocks fit a grid; rows and the pixels of a bin fit 32 bits.
template <bool kNchw, typename T, class Problem>
bool FitsMasks(const CudaCall<Problem>& call) {
  const SumTiles tiles(call.p, kNchw, sizeof(T), call.context.shared_bytes());
  return int64_t{call.p.h} * call.p.w < kSmallLimit &&
         int64_t{call.p.n} * call.p.h < kSmallLimit / tiles.OfRow();
}

template <typename T, class Problem>
size_t MaskBytes(const CudaCall<Problem>& call) {
  const Problem p = PassOf(call.p);
  return Prepared<T>(p, false, nullptr).Bytes(p);
}

// Adds the RoIs pass by pass. Without RoIs one pass writes zeros. scratch: MaskBytes
template <class Family, bool kNchw, typename T, class Problem>
mluOpStatus_t RunMasks(const CudaCall<Problem>& call, void* scratch) {
  const auto all = Family::template Gradients<T>(call);
  Problem p = PassOf(call.p);
  const int64_t rois = p.rois;
  const SumTiles tiles(p, kNchw, sizeof(T), call.context.shared_bytes());
  const Grid grid = {int64_t{p.n} * p.h * tiles.OfRow(), SumLaunch<kNchw>::kThreads,
                     tiles.SharedBytes(kNchw, sizeof(T)), /*pdl=*/true};
  PooledGradients<T> t = all;
  const Prepared<T> largest(p, kNchw, static_cast<char*>(scratch));
  for (int64_t first = 0; first == 0 || first < call.p.rois; first += rois) {
    p.rois = std::min(rois, call.p.rois - first);
    const Prepared<T> prepared(p, kNchw, static_cast<char*>(scratch));
    const bool add = first > 0;
    call.context.Launch(Prepare<Family, kNchw, Problem, T>,
                        Grid{prepared.blocks, Prepared<T>::kThreads}, p, t, prepared, add);
    call.context.Launch(SumTilesOf<Family, kNchw, Problem, T>, grid, p, prepared, tiles, t.map,
                        add);
    t.pooled += rois * p.channels();
    t.rois += rois * 5;
    if (Family::kHasMapping) t.mapping += rois * p.channels();
    if (rois == 0) break;
  }
  RunCustomMapping<Family, kNchw>(call, all, largest.flags, largest.blocks);
  return call.context.status();
}

#endif  // __CUDACC__

}  // namespace mluop::roi
