// SPDX-License-Identifier: Apache-2.0
// psroipool backward on CUDA devices: the implementation table, and the implementation "masks". A
// first kernel writes, per map row and column group, a bit mask of the RoIs that cover it
// (roi_masks.h), and the scales of their bins. Then a block owns some channels of four pixels in a
// row and writes their sums once, zeros included: no atomics. A warp owns a bin, its lanes the
// output channels, and loads each gradient once for all pixels.
#include <algorithm>

#include "ops/psroipool/cuda/backward.h"
#include "ops/psroipool/cuda/tuning.h"
#include "ops/roi/cuda/roi_masks.h"

namespace mluop::psroipool {
namespace {

using roi::RoiHits;
using roi::RoiMasks;

constexpr int kColumns = RoiMasks::kColumns;  // of a block
constexpr int kPrepareThreads = 256;
constexpr int kMaxFlags = 1024;

// Ten warps: with 49 bins, nine warps process five bins each and one processes four. kSumBlocks is
// per SM.
constexpr int kSumThreads = 320;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kSumBlocks = 2;
#else
constexpr int kSumBlocks = 3;
#endif

constexpr int kLaneChannels = 3;  // c, c+32, c+64: the 81 classes of COCO in one pass

// 1/area of a bin, and its columns; one load.
struct alignas(16) BinScale {
  float scale;
  Span columns;
};

// Output of the first kernel.
struct Prepared {
  RoiMasks masks;
  BinScale* scales;  // [R, G, G]
  int*
      custom_mapping_flags;  // [flags], not 0 where a block has seen a channel that is not forward's
  int flags;
};

// Called by a warp for one bin of a RoI. Returns whether this lane has read a channel that is not
// forward's.
__device__ bool HasCustomMapping(const Problem& p, const Gradients& t, int64_t item) {
  const auto bins = static_cast<unsigned>(p.bins());
  const auto bin = static_cast<int>(static_cast<unsigned>(item) % bins);  // fewer than 2^31
  const int32_t* mapping = t.mapping + item * p.output_dim;
  bool custom = false;
  for (int c = threadIdx.x % 32; c < p.output_dim; c += 32) {
    custom |= mapping[c] != c * static_cast<int>(bins) + bin;
  }
  return custom;
}

__global__ void __launch_bounds__(kPrepareThreads)
    Prepare(Problem p, Gradients t, Prepared prepared) {
  constexpr int kWarps = kPrepareThreads / 32;
  const int64_t warps = int64_t{gridDim.x} * kWarps;
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  bool custom = false;
  for (int64_t i = warp; i < p.rois * p.bins(); i += warps) custom |= HasCustomMapping(p, t, i);
  for (int64_t i = warp * 32 + threadIdx.x % 32; i < p.rois * p.bins(); i += warps * 32) {
    const Bin bin = LoadBin(p, t.rois, static_cast<unsigned>(i));
    // The scale of an empty bin is never read.
    prepared.scales[i] = {1.0f / static_cast<float>(bin.area()), bin.columns};
  }
  // Iterates from the last warp, because the first warps computed more scales.
  for (int64_t i = warps - 1 - warp; i < prepared.masks.Items(); i += warps) {
    prepared.masks.Write(p, i, [&](int64_t r) { return LoadPlace(p, t.rois, r); });
  }
  const int any = __syncthreads_or(custom);
  if (threadIdx.x == 0) prepared.custom_mapping_flags[blockIdx.x] = any;
}

// The bin and the output channels c, c+32, ... < end of one lane.
struct LaneTask {
  int ph, pw, bin;
  int c, end;
};

// A RoI's gradients in flight.
struct LoadedGradients {
  BinScale scale;
  float grads[kLaneChannels];

  __device__ void Start(const Problem& p, const Gradients& t, const BinScale* __restrict__ scales,
                        const LaneTask& task, int r) {
    const int item = r * p.group * p.group + task.bin;  // of [R, G, G], below 2^31
    const float4 loaded = __ldg(reinterpret_cast<const float4*>(scales + item));
    scale = {loaded.x, {__float_as_int(loaded.z), __float_as_int(loaded.w)}};
    const float* from = t.top_grad + item * p.output_dim + task.c;
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) {
      grads[i] = task.c + 32 * i < task.end ? __ldg(from + 32 * i) : 0.0f;
    }
  }

  __device__ void AddTo(int first_column, float (&sums)[kColumns][kLaneChannels]) const {
    float scaled_grads[kLaneChannels];
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) scaled_grads[i] = grads[i] * scale.scale;
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      if (!scale.columns.Has(first_column + k)) continue;
#pragma unroll
      for (int i = 0; i < kLaneChannels; ++i) sums[k][i] += scaled_grads[i];
    }
  }
};

// Writes the gradients of one bin to `sums`: [columns, stride], from the tile's first on.
__device__ void SumBin(const Problem& p, const Gradients& t, const Prepared& prepared,
                       const SumTile& tile, const LaneTask& task, float* sums) {
  const uint32_t* row = prepared.masks.Row(tile.row, task.ph);
  const uint32_t* column = prepared.masks.Column(tile.columns.begin / kColumns, task.pw);
  const int words = prepared.masks.words;
  for (int first = 0; first == 0 || first < words; first += kPartWords) {
    float part[kColumns][kLaneChannels] = {};
    roi::ForEachHit<LoadedGradients>(
        RoiHits(row, column, first, min(kPartWords, words - first)),
        [&](int r, LoadedGradients* loaded) { loaded->Start(p, t, prepared.scales, task, r); },
        [&](const LoadedGradients& loaded) { loaded.AddTo(tile.columns.begin, part); });
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) {
      const int c = task.c + 32 * i;
      if (c >= task.end) continue;
      float* to = sums + c * p.group * p.group + task.bin;
#pragma unroll
      for (int k = 0; k < kColumns; ++k, to += tile.stride) {
        *to = first == 0 ? part[k][i] : *to + part[k][i];
      }
    }
  }
}

// The first and last output channel of a tile may have some bins in other tiles.
__device__ void SumBins(const Problem& p, const Gradients& t, const Prepared& prepared,
                        const SumTile& tile, float* sums) {
  const int bins = p.group * p.group, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first = tile.begin / bins, before = tile.begin % bins;
  const int last = tile.end / bins, beyond = tile.end % bins;
  int ph = warp / p.group, pw = warp % p.group;
  for (int bin = warp; bin < bins; bin += kSumThreads / 32) {
    const int end = last + (bin < beyond);
    for (int c = first + (bin < before); c < end; c += 32 * kLaneChannels) {
      SumBin(p, t, prepared, tile, {ph, pw, bin, c + lane, end}, sums - tile.begin);
    }
    for (pw += kSumThreads / 32; pw >= p.group; pw -= p.group) ++ph;
  }
}

// The division of a pixel's channels into slices; the last one may be smaller.
struct ChannelSlicing {
  int channels;
  int slices;

  // Floats from the sums of a pixel to the next. The sums may start anywhere in 16 bytes.
  __host__ __device__ int stride() const { return (channels + 3) / 4 * 4 + 4; }
};

__device__ SumTile TileOf(const Problem& p, const ChannelSlicing& slicing, unsigned block) {
  const auto slices = static_cast<unsigned>(slicing.slices);
  const auto groups = static_cast<unsigned>((p.w - 1) / kColumns + 1);
  const int begin = static_cast<int>(block % slices) * slicing.channels;
  block /= slices;
  const int column = static_cast<int>(block % groups) * kColumns;
  return {static_cast<int32_t>(block / groups),
          {column, min(column + kColumns, p.w)},
          begin,
          min(begin + slicing.channels, static_cast<int>(p.channels())),
          slicing.stride()};
}

// `add`: adds to the sums of earlier passes instead of overwriting them.
__global__ void __launch_bounds__(kSumThreads, kSumBlocks)
    SumPixels(Problem p, Gradients t, Prepared prepared, ChannelSlicing slicing, bool add) {
  extern __shared__ float4 aligned[];  // [kColumns, stride] floats
  auto* sums = reinterpret_cast<float*>(aligned);
  const bool custom = ReadFlags(prepared.custom_mapping_flags, prepared.flags);
  SumTile tile = TileOf(p, slicing, blockIdx.x);
  const auto channels = static_cast<int>(p.channels());
  float* to =
      t.bottom_grad + (int64_t{tile.row} * p.w + tile.columns.begin) * channels + tile.begin;
  // The sums of each pixel have the pixel's offset from a multiple of 16 bytes.
  tile.stride += channels % 4;
  sums += ShiftOf(to);
  SumBins(p, t, prepared, tile, sums);
  if (__syncthreads_or(custom) != 0) SumCustomMapping(p, t, tile, sums);
  for (int k = 0; k < tile.columns.size(); ++k, to += channels) {
    WriteSums(sums + k * tile.stride, tile.end - tile.begin, add, to);
  }
}

// Maximum shared memory per block, so that kSumBlocks blocks fit an SM of large devices.
constexpr size_t kMaxSharedBytes = 66 << 10;
size_t SharedBytes(int stride) {
  return sizeof(float) * kColumns * (static_cast<size_t>(stride) + 4);
}

// A slice holds whole output channels (all bins of each) if one fits in shared memory.
ChannelSlicing MakeSlicing(const Problem& p, size_t shared_bytes) {
  const auto most_channels = static_cast<int64_t>(
      std::min(shared_bytes, kMaxSharedBytes) / (sizeof(float) * kColumns) - 16);
  const int64_t unit = p.bins() <= most_channels ? p.bins() : 1;
  const int64_t most = most_channels / unit * unit;
  const int64_t slices = CeilDiv(p.channels(), most);
  const int64_t channels = CeilDiv(CeilDiv(p.channels(), unit), slices) * unit;
  return {static_cast<int>(channels), static_cast<int>(CeilDiv(p.channels(), channels))};
}

RoiMasks MasksOf(const Problem& p) { return {p.rois, p.rows(), p.w, p.group, p.group}; }

// Adds the RoIs of one pass. scratch: masks, scales, flags
void AddPass(const Problem& p, const Gradients& t, bool add, char* scratch, CudaContext& context) {
  const ChannelSlicing slicing = MakeSlicing(p, context.shared_bytes());
  RoiMasks masks = MasksOf(p);
  masks.data = reinterpret_cast<uint32_t*>(scratch);
  auto* scales = reinterpret_cast<BinScale*>(scratch + masks.Bytes());
  const int64_t flags = std::min<int64_t>({CeilDiv(p.rois * p.bins(), kPrepareThreads / 32),
                                           int64_t{8} * context.sm_count(), int64_t{kMaxFlags}});
  const Prepared prepared = {masks, scales, reinterpret_cast<int*>(scales + p.rois * p.bins()),
                             static_cast<int>(flags)};
  context.Launch(Prepare, Grid{flags, kPrepareThreads}, p, t, prepared);
  const Grid grid = {p.rows() * CeilDiv(p.w, kColumns) * slicing.slices, kSumThreads,
                     SharedBytes(slicing.stride())};
  context.Launch(SumPixels, grid, p, t, prepared, slicing, add);
}

// Limits the RoIs to one pass, which has fewer than 2^31 elements.
Problem PassOf(Problem p) {
  const int64_t most = std::max<int64_t>((kSmallLimit - 1) / p.channels(), 1);
  p.rois = std::min({p.rois, MasksOf(p).RoisOfPass(), most});
  return p;
}

// The blocks fit a grid, and rows and the pixels of an image fit 32 bits.
bool FitsGrid(const CudaCall<Problem>& call) {
  const Problem& p = call.p;
  const int64_t slices = MakeSlicing(p, call.context.shared_bytes()).slices;
  const int64_t blocks_of_row = CeilDiv(p.w, kColumns) * slices;
  return p.rows() < kSmallLimit / blocks_of_row && int64_t{p.h} * p.w < kSmallLimit;
}

size_t MaskBytes(const CudaCall<Problem>& call) {
  const Problem p = PassOf(call.p);
  return MasksOf(p).Bytes() + sizeof(BinScale) * static_cast<size_t>(p.rois * p.bins()) +
         sizeof(int) * kMaxFlags;
}

mluOpStatus_t RunMasks(const CudaCall<Problem>& call, void* scratch) {
  Gradients t(call.arguments);
  Problem p = PassOf(call.p);
  const int64_t rois = p.rois;
  for (int64_t first = 0; first < call.p.rois; first += rois) {
    p.rois = std::min(rois, call.p.rois - first);
    AddPass(p, t, first > 0, static_cast<char*>(scratch), call.context);
    t.top_grad += rois * p.channels();
    t.mapping += rois * p.channels();
    t.rois += rois * 5;
  }
  return call.context.status();
}

constexpr CudaImplementation<Problem> kBackward[] = {
    {"small_map", "at most 1024 pixels and 512 RoIs, and few blocks", SmallMapApplies,
     SmallMapBytes, RunSmallMap<false>},
    {"masks", "fewer than 2^31 blocks", FitsGrid, MaskBytes, RunMasks},
    CudaImplementation<Problem>::ForDouble(RunDoubleBackward, DoubleBackwardBytes),
};

}  // namespace

constexpr CudaOperator kBackwardCuda = Bind<MakeProblem, kBackward>("psroipool_backward");

}  // namespace mluop::psroipool
