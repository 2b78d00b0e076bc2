// SPDX-License-Identifier: Apache-2.0
// psroipool backward on CUDA devices. A block owns some channels of one pixel, sums them in shared
// memory and writes them once, zeros included: no atomics, and the same bits every time. It lists
// the rois that cover its pixel, in ascending order. With the forward's mapping a warp then takes a
// bin and adds the gradients of the listed rois whose bin has the pixel, its lanes over the output
// channels, which are neighbours in top_grad. Any other mapping is added element by element.
#include <algorithm>

#include "ops/psroipool/cuda.h"

namespace mluop::psroipool {
namespace {

constexpr int kThreads = 256;
// To a processor, so that warps wait for gradients while others add; the registers follow from it.
// sm_75 has threads for four.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBlocks = 4;
#else
constexpr int kBlocks = 6;
#endif
constexpr int kWarps = kThreads / 32;
constexpr unsigned kWholeWarp = 0xffffffffu;

struct Gradients {
  const float* top_grad;   // [R, G, G, output_dim]
  const float* rois;       // [R, 5]
  const int32_t* mapping;  // as top_grad
  float* bottom_grad;      // [N, H, W, C]
};

// Not 0 where a block has seen an element with another channel than forward gives it. No more than
// a thread each, so that every block of the next kernel looks at all of them in one step.
struct Flags {
  int* others;
  int count;
};
constexpr int kMostFlags = kThreads;

__global__ void __launch_bounds__(kThreads)
    Prepare(Problem p, Gradients t, SpanTable table, Flags flags) {
  WriteSpans(p, t.rois, table);
  const auto output_dim = static_cast<unsigned>(p.output_dim);
  const auto bins = static_cast<unsigned>(p.bins());
  const int64_t step = int64_t{gridDim.x} * kThreads;
  bool other = false;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < p.rois * p.channels();
       i += step) {
    const auto element = static_cast<unsigned>(i);  // of fewer than 2^31
    const unsigned channel = element % output_dim * bins + element / output_dim % bins;
    other |= static_cast<unsigned>(t.mapping[i]) != channel;
  }
  const int any = __syncthreads_or(other);
  if (threadIdx.x == 0) flags.others[blockIdx.x] = any;
}

// Rois that cover a pixel, in ascending order, and for the forward's mapping which of their rows
// and columns of bins do.
constexpr int kListed = 2 * kThreads;
constexpr int kMostGroup = 32;  // bits of a mask
struct List {
  int32_t rois[kListed];
  uint32_t row_bins[kListed];
  uint32_t column_bins[kListed];
  int warp_counts[kWarps];
};

// The channels [begin, end) of one pixel.
struct Owned {
  int32_t row, column;  // the row counted through all images
  int begin, end;
};

// Appends a roi of each thread that has one, in the order of the threads. Returns the new length of
// the list. All threads come here. Ends with a barrier.
__device__ int Append(List& list, int length, bool has, int32_t roi) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned having = __ballot_sync(kWholeWarp, has);
  if (lane == 0) list.warp_counts[warp] = __popc(having);
  __syncthreads();
  int at = length, total = length;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    if (i == warp) at = total;
    total += list.warp_counts[i];
  }
  if (has) list.rois[at + __popc(having & ((1u << lane) - 1))] = roi;
  __syncthreads();
  return total;
}

__device__ uint32_t CoveringBins(const Range* __restrict__ spans, int group, int32_t i) {
  uint32_t bins = 0;
  for (int bin = 0; bin < group; ++bin) bins |= spans[bin].Has(i) ? 1u << bin : 0u;
  return bins;
}

// Ends with a barrier.
__device__ void FindBins(const Problem& p, const SpanTable& table, const Owned& own, List& list,
                         int length) {
  for (int i = threadIdx.x; i < length; i += kThreads) {
    const int first = list.rois[i] * p.group;  // of [R, G]
    list.row_bins[i] = CoveringBins(table.rows + first, p.group, own.row);
    list.column_bins[i] = CoveringBins(table.columns + first, p.group, own.column);
  }
  __syncthreads();
}

// Output channels of a lane, 32 apart: all of COCO's in one pass. And rois whose gradients are
// under way at a time.
constexpr int kLaneChannels = 3;
constexpr int kLoads = 2;

// One bin of the pixel, and of its output channels those first+lane, first+lane+32, ... below end.
struct Task {
  int bin;
  int first, end;

  __device__ int Channel(int i) const {
    return first + static_cast<int>(threadIdx.x) % 32 + 32 * i;
  }
};

// Adds to `sums` a hit of each lane that has one, from lane 0 on: its roi's gradients by `scale`.
__device__ void AddHits(const Problem& p, const float* __restrict__ top_grad, const Task& task,
                        unsigned hits, int2 roi_and_scale, float* sums) {
  const int bins = p.group * p.group;
  while (hits != 0) {
    float scales[kLoads], grads[kLoads][kLaneChannels];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const bool is_hit = hits != 0;
      const int lane = is_hit ? __ffs(static_cast<int>(hits)) - 1 : 0;
      hits &= hits - 1;  // 0 stays 0
      const int roi = __shfl_sync(kWholeWarp, roi_and_scale.x, lane);
      scales[k] = __int_as_float(__shfl_sync(kWholeWarp, roi_and_scale.y, lane));
      const float* from = top_grad + (roi * bins + task.bin) * p.output_dim;  // below 2^31
#pragma unroll
      for (int i = 0; i < kLaneChannels; ++i) {
        grads[k][i] = is_hit && task.Channel(i) < task.end ? from[task.Channel(i)] : 0.0f;
      }
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
#pragma unroll
      for (int i = 0; i < kLaneChannels; ++i) sums[i] += grads[k][i] * scales[k];
    }
  }
}

// Adds what the listed rois give to one bin. `sums`: [C], of which the block has its slice; no
// other warp has this bin.
__device__ void AddBin(const Problem& p, const SpanTable& table, const List& list, int length,
                       const float* __restrict__ top_grad, const Task& task, float* sums) {
  const int lane = threadIdx.x % 32;
  const int ph = task.bin / p.group, pw = task.bin % p.group;
  float bin_sums[kLaneChannels] = {};
  for (int i = 0; i < length; i += 32) {
    const int at = i + lane;
    const bool hit =
        at < length && (list.row_bins[at] >> ph & 1) != 0 && (list.column_bins[at] >> pw & 1) != 0;
    const unsigned hits = __ballot_sync(kWholeWarp, hit);
    if (hits == 0) continue;
    int2 roi_and_scale = {0, 0};
    if (hit) {
      const int roi = list.rois[at];
      const Range rows = table.rows[roi * p.group + ph];
      const Range columns = table.columns[roi * p.group + pw];
      const float scale = 1.0f / static_cast<float>(rows.size() * columns.size());
      roi_and_scale = {roi, __float_as_int(scale)};
    }
    AddHits(p, top_grad, task, hits, roi_and_scale, bin_sums);
  }
#pragma unroll
  for (int i = 0; i < kLaneChannels; ++i) {
    const int c = task.Channel(i);
    if (c < task.end) sums[c * p.group * p.group + task.bin] += bin_sums[i];
  }
}

// Needs FindBins. `own` begins and ends between output channels.
__device__ void AddBins(const Problem& p, const SpanTable& table, const List& list, int length,
                        const float* top_grad, const Owned& own, float* sums) {
  const int bins = p.group * p.group, first = own.begin / bins, end = own.end / bins;
  for (int bin = threadIdx.x / 32; bin < bins; bin += kWarps) {
    for (int c = first; c < end; c += 32 * kLaneChannels) {
      AddBin(p, table, list, length, top_grad, {bin, c, end}, sums - own.begin);
    }
  }
}

// One bin of a listed roi, whatever its mapping, from element `first` of top_grad on. All threads
// walk all elements; a channel belongs to one of them.
__device__ void AddElements(const Gradients& t, int first, int count, float area, const Owned& own,
                            float* sums) {
  const auto size = static_cast<unsigned>(own.end - own.begin);
  for (int i = first; i < first + count; ++i) {
    // A channel outside the map is no less than 2^31, or beyond the last block's end.
    const unsigned channel = static_cast<unsigned>(t.mapping[i]) - static_cast<unsigned>(own.begin);
    if (channel < size && channel % kThreads == threadIdx.x) sums[channel] += t.top_grad[i] / area;
  }
}

__device__ void AddAnyMapping(const Problem& p, const Gradients& t, const SpanTable& table,
                              const List& list, int length, const Owned& own, float* sums) {
  for (int i = 0; i < length; ++i) {
    const int first = list.rois[i] * p.group;  // of [R, G]
    for (int ph = 0; ph < p.group; ++ph) {
      const Range rows = table.rows[first + ph];
      if (!rows.Has(own.row)) continue;
      for (int pw = 0; pw < p.group; ++pw) {
        const Range columns = table.columns[first + pw];
        if (!columns.Has(own.column)) continue;
        AddElements(t, ((first + ph) * p.group + pw) * p.output_dim, p.output_dim,
                    static_cast<float>(rows.size() * columns.size()), own, sums);
      }
    }
  }
}

// How the channels of a pixel are cut: into slices of so many, the last one of fewer.
struct Cut {
  int channels;
  int slices;
};

__global__ void __launch_bounds__(kThreads, kBlocks)
    SumPixels(Problem p, Gradients t, SpanTable table, Flags flags, Cut cut) {
  extern __shared__ float sums[];  // [cut.channels]
  __shared__ List list;
  const auto slices = static_cast<unsigned>(cut.slices), width = static_cast<unsigned>(p.w);
  const unsigned pixel = blockIdx.x / slices;
  const auto channels = static_cast<int>(p.channels());
  const int begin = static_cast<int>(blockIdx.x % slices) * cut.channels;
  const Owned own = {static_cast<int32_t>(pixel / width), static_cast<int32_t>(pixel % width),
                     begin, min(begin + cut.channels, channels)};
  const int size = own.end - own.begin;
  for (int i = threadIdx.x; i < size; i += kThreads) sums[i] = 0;
  const bool other = threadIdx.x < flags.count && flags.others[threadIdx.x] != 0;
  const bool any_mapping = __syncthreads_or(other) != 0 || p.group > kMostGroup;
  int length = 0;
  for (int64_t first = 0; first < p.rois; first += kThreads) {
    const int64_t r = first + threadIdx.x;
    bool covers = false;
    if (r < p.rois) {
      const Extent extent = table.extents[r];
      covers = extent.rows.Has(own.row) && extent.columns.Has(own.column);
    }
    length = Append(list, length, covers, static_cast<int32_t>(r));
    if (length + kThreads <= kListed && first + kThreads < p.rois) continue;
    if (any_mapping) {
      AddAnyMapping(p, t, table, list, length, own, sums);
    } else {
      FindBins(p, table, own, list, length);
      AddBins(p, table, list, length, t.top_grad, own, sums);
    }
    length = 0;
    __syncthreads();
  }
  float* to = t.bottom_grad + int64_t{pixel} * channels + own.begin;
  for (int i = threadIdx.x; i < size; i += kThreads) to[i] = sums[i];
}

// Channels of a block, 16 KiB of sums: with the list, room for kBlocks on large devices.
constexpr int kMostChannels = 4096;

// Between output channels, where bins are summed (AddBins).
Cut MakeCut(const Problem& p) {
  const int64_t unit = p.group <= kMostGroup ? p.bins() : 1;
  const int64_t most = kMostChannels / unit * unit;
  const int64_t slices = CeilDiv(p.channels(), most);
  const int64_t channels = CeilDiv(CeilDiv(p.channels(), unit), slices) * unit;
  return {static_cast<int>(channels), static_cast<int>(CeilDiv(p.channels(), channels))};
}

}  // namespace

mluOpStatus_t BackwardCuda(const Arguments& a, CudaContext& context) {
  const Problem p = MakeProblem(a, a.Float("spatial_scale"));
  const Gradients t = {a.In<float>("top_grad"), a.In<float>("rois"),
                       a.In<int32_t>("mapping_channel"), a.Out<float>("bottom_grad")};
  const size_t table_bytes = SpanTable::Bytes(p);
  void* scratch = context.Scratch(table_bytes + kMostFlags * sizeof(int));
  const SpanTable table(p, scratch);
  const int64_t blocks = std::min<int64_t>(CeilDiv(p.rois * p.channels(), kThreads), kMostFlags);
  const Flags flags = {reinterpret_cast<int*>(static_cast<char*>(scratch) + table_bytes),
                       static_cast<int>(blocks)};
  context.Launch(Prepare, Grid{blocks, kThreads}, p, t, table, flags);
  const Cut cut = MakeCut(p);
  // No more blocks than elements of the map: below 2^31.
  context.Launch(SumPixels,
                 Grid{p.rows() * p.w * cut.slices, kThreads,
                      sizeof(float) * static_cast<size_t>(cut.channels)},
                 p, t, table, flags, cut);
  return context.status();
}

}  // namespace mluop::psroipool
