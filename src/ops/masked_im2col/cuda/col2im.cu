// SPDX-License-Identifier: Apache-2.0
// masked_col2im forward on CUDA devices, limited by the writes of im (one per element). In "staged"
// a block makes the table of winners of its pixels in shared memory. Meanwhile the elements of two
// channels are copied to shared memory. "table" builds the table in scratch with two extra
// launches.
#include <cuda_pipeline.h>

#include <algorithm>

#include "ops/masked_im2col/cuda/winners.h"

namespace mluop::masked_im2col {
namespace {

// col [C, M] is read, im [C, H*W] written.
template <typename T>
struct StagedParameters {
  Problem p;
  Masks masks;
  const T* from;
  T* to;
  int parts;          // of the pixels, one per block
  int slices;         // of the channels, for different blocks
  int range;          // pixels of a part
  int planes;         // channels at a time
  bool whole_chunks;  // rows of col start and end at multiples of 16 bytes
};

// The pixels of a block.
struct Range {
  int first, size;
};

// Loads the first masks while zeroing the table.
__device__ void MakeTable(const Problem& p, const Masks& masks, const Range& range,
                          int32_t* table) {
  const int step = blockDim.x, at = threadIdx.x;
  for (int first = 0; first < p.masks; first += kMasksInFlight * step) {
    int32_t h[kMasksInFlight], w[kMasksInFlight];
#pragma unroll
    for (int k = 0; k < kMasksInFlight; ++k) {
      const int m = first + k * step + at;
      h[k] = m < p.masks ? __ldg(masks.h + m) : -1;
      w[k] = m < p.masks ? __ldg(masks.w + m) : -1;
    }
    if (first == 0) {
      ZeroTable(table, range.size);
      __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < kMasksInFlight; ++k) {
      const uint32_t pixel = PixelOf(p, h[k], w[k]), place = pixel - range.first;
      if (pixel != kOutside && place < static_cast<uint32_t>(range.size))
        atomicMax(table + place, first + k * step + at + 1);
    }
  }
}

// A channel's elements in shared memory. A zero precedes them; pixels without a mask read it.
// Winner w has element kLead - 1 + w.
template <typename T>
constexpr int kLead = 16 / sizeof(T);
template <typename T>
MLUOP_HOST_DEVICE int RowPitch(int masks) {
  return (masks + 2 * kLead<T> - 1) / kLead<T> * kLead<T>;
}

template <typename T>
__device__ void StartRow(const StagedParameters<T>& call, int64_t channel, T* row) {
  const int masks = call.p.masks;
  const T* const from = call.from + channel * masks;
  if (threadIdx.x == 0) row[kLead<T> - 1] = T{0};
  if (call.whole_chunks) {
    for (int k = threadIdx.x * kLead<T>; k < masks; k += blockDim.x * kLead<T>)
      __pipeline_memcpy_async(row + kLead<T> + k, from + k, 16);
  } else {
    for (int k = threadIdx.x; k < masks; k += blockDim.x) row[kLead<T> + k] = __ldg(from + k);
  }
}

// V pixels at a time. V divides H*W, unless it is one.
template <typename T, int V>
__global__ void __launch_bounds__(kCol2imThreads) FillStaged(StagedParameters<T> call) {
  const Problem& p = call.p;
  const int first = static_cast<int>(blockIdx.x % call.parts) * call.range;
  const Range range = {first, min(call.range, static_cast<int>(p.plane()) - first)};
  const int pitch = RowPitch<T>(p.masks);
  T* const rows = DynamicShared<T>();
  int32_t* const table = reinterpret_cast<int32_t*>(rows + call.planes * pitch);
  const int64_t step = int64_t{call.slices} * call.planes;
  for (int64_t channel = blockIdx.x / call.parts * call.planes; channel < p.channels;
       channel += step) {
    const int planes = static_cast<int>(min(int64_t{call.planes}, p.channels - channel));
    for (int k = 0; k < planes; ++k) StartRow(call, channel + k, rows + k * pitch);
    if (channel < step) MakeTable(p, call.masks, range, table);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    T* const to = call.to + channel * p.plane() + range.first;
#pragma unroll 2
    for (int pixel = threadIdx.x * V; pixel < range.size; pixel += blockDim.x * V) {
      int32_t winner[V];
      LoadElements(table + pixel, winner);
#pragma unroll
      for (int k = 0; k < kStagedPlanes; ++k) {
        if (k >= planes) break;
        Pack<T, V> pack;
#pragma unroll
        for (int v = 0; v < V; ++v) pack.at[v] = rows[k * pitch + kLead<T> - 1 + winner[v]];
        StorePack(pack, to + k * p.plane() + pixel);
      }
    }
    __syncthreads();
  }
}

// Plans parts of at most `max_pixels` pixels and slices of the `groups` of channels. Uses more
// parts if there are fewer groups than SMs.
template <typename T, int V>
int64_t PlanParts(int64_t max_pixels, int64_t groups, int sm_count, StagedParameters<T>* call) {
  constexpr int64_t kMinPacks = 32;  // packs of a part
  const int64_t packs = call->p.plane() / V, min_parts = CeilDiv(packs, max_pixels / V);
  const int64_t max_parts = std::max(min_parts, CeilDiv(packs, kMinPacks));
  const int64_t parts = std::clamp<int64_t>(sm_count / groups, min_parts, max_parts);
  call->range = static_cast<int>(CeilDiv(packs, parts)) * V;
  call->parts = static_cast<int>(CeilDiv(packs * V, call->range));
  call->slices = static_cast<int>(std::clamp<int64_t>(sm_count / call->parts, 1, groups));
  return int64_t{call->parts} * call->slices;
}

template <typename T, int V>
void LaunchStaged(StagedParameters<T> call, CudaContext& context) {
  const Problem& p = call.p;
  const size_t shared = context.shared_bytes() - kReserved;
  const size_t row = static_cast<size_t>(RowPitch<T>(p.masks)) * sizeof(T);
  call.planes = kStagedPlanes * row + WinnersBytes(p) <= shared ? kStagedPlanes : 1;
  call.whole_chunks = IsAligned(call.from) && p.masks % kLead<T> == 0;
  const size_t rows = static_cast<size_t>(call.planes) * row;
  const auto most = static_cast<int64_t>((shared - rows) / sizeof(int32_t)) / 8 * 8;
  const int64_t groups = CeilDiv(p.channels, call.planes);
  const int64_t blocks = PlanParts<T, V>(most, groups, context.sm_count(), &call);
  const int64_t work = std::max<int64_t>(call.range / V, CeilDiv(p.masks, kMasksInFlight));
  const auto table = static_cast<size_t>(CeilDiv(call.range, 4)) * sizeof(int4);
  context.Launch(FillStaged<T, V>, {blocks, ThreadsFor(work, kCol2imThreads), rows + table}, call);
}

bool IsSmall(const Problem& p) {
  return p.masks > 0 && p.plane() <= kMaxStagedPixels && p.masks <= kMaxStagedMasks;
}
bool FitsShared(const CudaCall<Problem>& call) { return IsSmall(call.p); }

mluOpStatus_t RunStaged(const CudaCall<Problem>& call, void* /*scratch*/) {
  const Arguments& a = call.arguments;
  return WithBits(call, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kChunk = 16 / sizeof(T);
    StagedParameters<T> s = {};
    s.p = call.p;
    s.masks = MasksOf(a);
    s.from = a.In<T>("col");
    s.to = a.Out<T>("im");
    IsAligned(s.to, 16) && s.p.plane() % kChunk == 0 ? LaunchStaged<T, kChunk>(s, call.context)
                                                     : LaunchStaged<T, 1>(s, call.context);
  });
}

mluOpStatus_t RunTable(const CudaCall<Problem>& call, void* scratch) {
  auto* const winners = static_cast<int32_t*>(scratch);
  const auto mask_of_pixel = [=] __device__(int64_t i) { return int64_t{winners[i]} - 1; };
  return CopyByTable(call, winners, mask_of_pixel, {"col", call.p.masks}, {"im", call.p.plane()});
}

constexpr CudaImplementation<Problem> kCol2im[] = {
    {"staged", "1 to 8192 masks, at most 2^20 pixels", FitsShared, nullptr, RunStaged},
    {"table", "always", Always, WinnersScratch, RunTable},
    CudaImplementation<Problem>::ForDouble(RunTable, WinnersScratch),
};

}  // namespace

constexpr CudaOperator kCol2imCuda = Bind<MakeProblem, kCol2im>("masked_col2im_forward");

size_t Col2imCudaBytes(const Arguments& arguments) {
  const Problem p = MakeProblem(arguments);
  const bool is_double = arguments.Type() == MLUOP_DTYPE_DOUBLE;
  return IsSmall(p) && !is_double ? 0 : WinnersBytes(p);
}

}  // namespace mluop::masked_im2col
