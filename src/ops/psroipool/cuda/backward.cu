// SPDX-License-Identifier: Apache-2.0
// psroipool backward on CUDA devices, but for small maps. A block owns some channels of a few pixels
// in a row and writes their sums once, zeros included: no atomics, and the same bits every time. A
// warp takes a bin, its lanes the output channels, and loads each gradient once for all pixels.
#include <algorithm>

#include "ops/psroipool/cuda/backward.h"

namespace mluop::psroipool {
namespace {

// Ten warps: 49 bins are five for each but one. And blocks to a processor.
constexpr int kSumThreads = 320;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kSumBlocks = 2;
#else
constexpr int kSumBlocks = 3;
#endif

// Pixels of a block, neighbours in a row. Of a small map, which would be too few blocks, one.
constexpr int kMostColumns = 4;

// The channels [begin, end) of the pixels in `columns` of a row. Their sums in shared memory are
// `stride` apart.
struct Owned {
  int32_t row;  // counted through all images
  Range columns;
  int begin, end;
  int stride;
};

constexpr int kLaneChannels = 3;  // 32 apart: all of COCO's in one pass
// Words of rois whose gradients make a part of a sum: no chain of additions is long.
constexpr int kWordsOfPart = 16;

// One bin, and some of its output channels: those of a lane from c on, below end.
struct Task {
  int ph, pw, bin;
  int c, end;
};

// A roi's gradients under way.
struct Load {
  Share share;
  float grads[kLaneChannels];

  __device__ void Start(const Problem& p, const Gradients& t, const Share* __restrict__ shares,
                        const Task& task, int r) {
    const int item = r * p.group * p.group + task.bin;  // of [R, G, G], below 2^31
    const float4 loaded = __ldg(reinterpret_cast<const float4*>(shares + item));
    share = {loaded.x, {__float_as_int(loaded.z), __float_as_int(loaded.w)}};
    const float* from = t.top_grad + item * p.output_dim + task.c;
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) {
      grads[i] = task.c + 32 * i < task.end ? __ldg(from + 32 * i) : 0.0f;
    }
  }
};

template <int kColumns>
using Sums = float[kColumns][kLaneChannels];

template <int kColumns>
__device__ void AddLoaded(const Load& load, int first_column, Sums<kColumns>& sums) {
#pragma unroll
  for (int k = 0; k < kColumns; ++k) {
    if (!load.share.columns.Has(first_column + k)) continue;
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) {
      sums[k][i] = fmaf(load.grads[i], load.share.scale, sums[k][i]);
    }
  }
}

// Adds what the hits give, in their order; the next one's gradients are under way meanwhile.
template <int kColumns>
__device__ void AddHits(const Problem& p, const Gradients& t, const Share* shares, const Task& task,
                        int first_column, RoiHits hits, Sums<kColumns>& sums) {
  int r = hits.Next();
  Load next;
  if (r >= 0) next.Start(p, t, shares, task, r);
  while (r >= 0) {
    const Load now = next;
    r = hits.Next();
    if (r >= 0) next.Start(p, t, shares, task, r);
    AddLoaded<kColumns>(now, first_column, sums);
  }
}

constexpr int kLoads = 4;  // under way, of few pixels, where there is little else to do
template <>
__device__ void AddHits<1>(const Problem& p, const Gradients& t, const Share* shares,
                           const Task& task, int first_column, RoiHits hits, Sums<1>& sums) {
  int r = 0;
  while (r >= 0) {
    Load loads[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      r = hits.Next();
      loads[i].share.columns = {0, 0};
      if (r >= 0) loads[i].Start(p, t, shares, task, r);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) AddLoaded<1>(loads[i], first_column, sums);
  }
}

// Writes what the rois give to one bin to `sums`: [columns, stride], from the slice's first on.
template <int kColumns>
__device__ void SumBin(const Problem& p, const Gradients& t, const Prepared& prepared,
                       const Owned& own, const Task& task, float* sums) {
  const uint32_t* row = prepared.masks.Row(own.row, task.ph);
  const uint32_t* column = prepared.masks.Column(own.columns.begin / kColumns, task.pw);
  const int words = prepared.masks.words;
  for (int first = 0; first == 0 || first < words; first += kWordsOfPart) {
    const RoiHits hits(row, column, first, min(kWordsOfPart, words - first));
    Sums<kColumns> part = {};
    AddHits<kColumns>(p, t, prepared.shares, task, own.columns.begin, hits, part);
#pragma unroll
    for (int i = 0; i < kLaneChannels; ++i) {
      const int c = task.c + 32 * i;
      if (c >= task.end) continue;
      float* to = sums + c * p.group * p.group + task.bin;
#pragma unroll
      for (int k = 0; k < kColumns; ++k, to += own.stride) {
        *to = first == 0 ? part[k][i] : *to + part[k][i];
      }
    }
  }
}

// The first and last output channel may have some bins elsewhere.
template <int kColumns>
__device__ void SumBins(const Problem& p, const Gradients& t, const Prepared& prepared,
                        const Owned& own, float* sums) {
  const int bins = p.group * p.group, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first = own.begin / bins, before = own.begin % bins;
  const int last = own.end / bins, beyond = own.end % bins;
  int ph = warp / p.group, pw = warp % p.group;
  for (int bin = warp; bin < bins; bin += kSumThreads / 32) {
    const int end = last + (bin < beyond);
    for (int c = first + (bin < before); c < end; c += 32 * kLaneChannels) {
      SumBin<kColumns>(p, t, prepared, own, {ph, pw, bin, c + lane, end}, sums - own.begin);
    }
    for (pw += kSumThreads / 32; pw >= p.group; pw -= p.group) ++ph;
  }
}

// One bin of a roi, whatever its mapping, from element `first` of top_grad on. All threads walk all
// elements; a channel belongs to one of them.
__device__ void AddElements(const Problem& p, const Gradients& t, int first, const Share& share,
                            const Owned& own, float* sums) {
  const auto size = static_cast<unsigned>(own.end - own.begin);
  for (int i = first; i < first + p.output_dim; ++i) {
    // A channel outside the map is no less than 2^31, or beyond the last block's end.
    const unsigned channel = static_cast<unsigned>(t.mapping[i]) - static_cast<unsigned>(own.begin);
    if (channel >= size || channel % kSumThreads != threadIdx.x) continue;
    for (int x = own.columns.begin; x < own.columns.end; ++x) {
      if (!share.columns.Has(x)) continue;
      sums[(x - own.columns.begin) * own.stride + channel] += t.top_grad[i] * share.scale;
    }
  }
}

// `sums` are 0.
__device__ void AddAnyMapping(const Problem& p, const Gradients& t, const Prepared& prepared,
                              const Owned& own, float* sums) {
  const int bins = p.group * p.group, words = prepared.masks.words;
  for (int bin = 0; bin < bins; ++bin) {
    const uint32_t* row = prepared.masks.Row(own.row, bin / p.group);
    const uint32_t* column =
        prepared.masks.Column(own.columns.begin / prepared.columns, bin % p.group);
    for (int first = 0; first < words; first += kWordsOfPart) {
      RoiHits hits(row, column, first, min(kWordsOfPart, words - first));
      for (int r = hits.Next(); r >= 0; r = hits.Next()) {
        const int item = r * bins + bin;
        AddElements(p, t, item * p.output_dim, prepared.shares[item], own, sums);
      }
    }
  }
}

// How the channels of a pixel are cut: into slices of so many, the last one of fewer.
struct Cut {
  int channels;
  int slices;

  // Of a pixel's sums: they may begin anywhere in 16 bytes.
  __host__ __device__ int stride() const { return (channels + 3) / 4 * 4 + 4; }
};

template <int kColumns>
__device__ Owned OwnedBy(const Problem& p, const Cut& cut, unsigned block) {
  const auto slices = static_cast<unsigned>(cut.slices);
  const auto groups = static_cast<unsigned>((p.w - 1) / kColumns + 1);
  const int begin = static_cast<int>(block % slices) * cut.channels;
  block /= slices;
  const int column = static_cast<int>(block % groups) * kColumns;
  return {static_cast<int32_t>(block / groups),
          {column, min(column + kColumns, p.w)},
          begin,
          min(begin + cut.channels, static_cast<int>(p.channels())),
          cut.stride()};
}

// `add`: to what the rois before have given.
template <int kColumns>
__global__ void __launch_bounds__(kSumThreads, kSumBlocks)
    SumPixels(Problem p, Gradients t, Prepared prepared, Cut cut, bool add) {
  extern __shared__ float4 aligned[];  // [kColumns, stride] floats
  auto* sums = reinterpret_cast<float*>(aligned);
  bool other = false;
  for (int i = threadIdx.x; i < prepared.flags; i += kSumThreads) other |= prepared.others[i] != 0;
  Owned own = OwnedBy<kColumns>(p, cut, blockIdx.x);
  const auto channels = static_cast<int>(p.channels());
  float* to = t.bottom_grad + (int64_t{own.row} * p.w + own.columns.begin) * channels + own.begin;
  // Each pixel's sums as far from 16 bytes as the pixel: neighbours are so by as much.
  own.stride += channels % 4;
  sums += ShiftOf(to);
  SumBins<kColumns>(p, t, prepared, own, sums);
  if (__syncthreads_or(other) != 0) {
    for (int i = threadIdx.x; i < kColumns * own.stride - 4; i += kSumThreads) sums[i] = 0;
    __syncthreads();
    AddAnyMapping(p, t, prepared, own, sums);
    __syncthreads();
  }
  for (int k = 0; k < own.columns.size(); ++k, to += channels) {
    WriteSums(sums + k * own.stride, own.end - own.begin, add, to);
  }
}

// Of a block: room for kSumBlocks on large devices.
constexpr size_t kMostSharedBytes = 66 << 10;
size_t SharedBytes(int columns, int stride) {
  return sizeof(float) * static_cast<size_t>(columns) * (static_cast<size_t>(stride) + 4);
}

// Between output channels, where they are so short.
Cut MakeCut(const Problem& p, size_t shared_bytes) {
  const auto most_channels = static_cast<int64_t>(
      std::min(shared_bytes, kMostSharedBytes) / (sizeof(float) * kMostColumns) - 16);
  const int64_t unit = p.bins() <= most_channels ? p.bins() : 1;
  const int64_t most = most_channels / unit * unit;
  const int64_t slices = CeilDiv(p.channels(), most);
  const int64_t channels = CeilDiv(CeilDiv(p.channels(), unit), slices) * unit;
  return {static_cast<int>(channels), static_cast<int>(CeilDiv(p.channels(), channels))};
}

RoiMasks MasksOf(const Problem& p, int columns) {
  return {p.rois, p.rows(), CeilDiv(p.w, columns), p.group, p.group};
}

// scratch: masks, shares, flags
void AddRois(const Problem& p, const Gradients& t, bool add, char* scratch, CudaContext& context) {
  const Cut cut = MakeCut(p, context.shared_bytes());
  const int64_t wide = p.rows() * CeilDiv(p.w, kMostColumns) * cut.slices;
  const int columns = wide >= int64_t{2} * context.sm_count() ? kMostColumns : 1;
  RoiMasks masks = MasksOf(p, columns);
  masks.data = reinterpret_cast<uint32_t*>(scratch);
  auto* shares = reinterpret_cast<Share*>(scratch + masks.Bytes());
  const Prepared prepared = {columns, masks, shares,
                             reinterpret_cast<int*>(shares + p.rois * p.bins()),
                             PrepareBlocks(p, context)};
  PrepareBackward(p, t, prepared, context);
  // No more blocks than elements of the map: below 2^31.
  const Grid grid = {p.rows() * CeilDiv(p.w, columns) * cut.slices, kSumThreads,
                     SharedBytes(columns, cut.stride())};
  context.Launch(columns == 1 ? SumPixels<1> : SumPixels<kMostColumns>, grid, p, t, prepared, cut,
                 add);
}

size_t ScratchBytes(const Problem& p) {
  return MasksOf(p, 1).Bytes() + sizeof(Share) * static_cast<size_t>(p.rois * p.bins()) +
         sizeof(int) * kMostFlags;
}

}  // namespace

mluOpStatus_t BackwardCuda(const Arguments& a, CudaContext& context) {
  Problem p = MakeProblem(a, a.Float("spatial_scale"));
  Gradients t = {a.In<float>("top_grad"), a.In<float>("rois"), a.In<int32_t>("mapping_channel"),
                 a.Out<float>("bottom_grad")};
  if (BackwardSmall(p, t, context)) return context.status();
  const int64_t rois = p.rois;
  p.rois = std::min(rois, MasksOf(p, 1).RoisAtATime());
  auto* scratch = static_cast<char*>(context.Scratch(ScratchBytes(p)));
  int64_t done = 0;
  do {  // zeros without rois
    Problem part = p;
    part.rois = std::min(p.rois, rois - done);
    AddRois(part, t, done > 0, scratch, context);
    t.top_grad += p.rois * p.channels();
    t.mapping += p.rois * p.channels();
    t.rois += p.rois * 5;
    done += p.rois;
  } while (done < rois);
  return context.status();
}

}  // namespace mluop::psroipool
