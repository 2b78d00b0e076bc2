// SPDX-License-Identifier: Apache-2.0
// masked_im2col backward on CUDA devices: bound by bytes, grad_col read once and grad_feature
// written once. A block sums a band of a plane in shared memory, as float. It goes from kernel
// element to kernel element; in between, masks at different positions meet different pixels, so that
// all of them are added at once, without atomics, and a pixel's sum has one order: blocks of masks,
// kernel elements. Masks at the same position take turns.
#include <cuda_fp16.h>

#include <algorithm>

#include "ops/masked_im2col/cuda_kept.h"

namespace mluop::masked_im2col {
namespace {

constexpr int kThreads = 512;
constexpr int kBlocksOfProcessor = 2;
// Where a processor's shared memory has room for one block of kMostShared only, a second one need
// not find registers either.
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
constexpr int kBlocksAtOnce = 1;
#else
constexpr int kBlocksAtOnce = 2;
#endif
constexpr int kAtOnce = 4;
// The band's sums follow the tables; both together take kMostShared at most.
constexpr int kMostBand = static_cast<int>((kMostShared - sizeof(Tables)) / sizeof(float)) / 8 * 8;
// Smaller ones cost more in reading masks than they gain in blocks.
constexpr int kLeastBand = 128;

template <typename T>
struct Call {
  Problem p;
  const T* grad_col;
  Masks masks;
  T* grad_feature;
  int bands, band_size;  // band_size: a multiple of 8
  bool whole_chunks;     // bands begin and end where 16-byte stores may
};

__device__ float ToFloat(float value) { return value; }
__device__ float ToFloat(__half value) { return __half2float(value); }
template <typename T>
__device__ T Rounded(float value) {
  if constexpr (sizeof(T) == 2) {
    return __float2half_rn(value);
  } else {
    return value;
  }
}

// One kernel element of the thread's masks.
template <typename T, int V>
struct Values {
  Pack<T, V> packs[kKept / V];

  __device__ float At(int k) const { return ToFloat(packs[k / V].at[k % V]); }
};

// row: the kernel element's row of grad_col from the thread's first mask on. Groups without a mask
// in the band are left alone, so that rows are not read over again for every band.
template <typename T, int V>
__device__ Values<T, V> LoadValues(const Problem& p, const Kept& kept, const T* row) {
  Values<T, V> values;
#pragma unroll
  for (int k = 0; k < kKept; k += V) {
    bool any = false;
#pragma unroll
    for (int v = 0; v < V; ++v) any |= kept.IsIn(p, k + v);
    if (any) values.packs[k / V] = LoadPack<Pack<T, V>>(row + k * static_cast<int>(blockDim.x));
  }
  return values;
}

// Those without another mask at their position: kAtOnce reads of sums, then as many writes.
template <typename T, int V>
__device__ void AddSingles(const Problem& p, const Band& band, const Kept& kept,
                           const Values<T, V>& values, int2 tap) {
#pragma unroll
  for (int first = 0; first < kKept; first += kAtOnce) {
    uint32_t at[kAtOnce];
    float sum[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int k = first + u;
      at[u] = (kept.repeated >> k & 1) != 0 ? kOutside : Meet(p, band, kept, k, tap);
      if (at[u] != kOutside) sum[u] = band.sums[at[u]] + values.At(k);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      if (at[u] != kOutside) band.sums[at[u]] = sum[u];
    }
  }
}

// The lanes of a warp, in their order where they meet the same pixel.
__device__ void AddInOrder(float* sums, uint32_t at, float value) {
  const uint32_t lane = threadIdx.x % 32, equal = __match_any_sync(~0u, at);
  const int before = __popc(equal & ((1u << lane) - 1));
  for (int turn = 0; __any_sync(~0u, at != kOutside && before >= turn); ++turn) {
    if (at != kOutside && before == turn) sums[at] += value;
    __syncwarp();
  }
}

// Those with another mask at their position, warp after warp. All threads of the block come along.
template <typename T, int V>
__device__ void AddInTurns(const Problem& p, const Band& band, const Kept& kept,
                           const Values<T, V>& values, int2 tap) {
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
#pragma unroll 1
    for (uint32_t turns = band.tables->turns[k]; turns != 0; turns &= turns - 1) {
      if (threadIdx.x / 32 == static_cast<uint32_t>(__ffs(static_cast<int>(turns)) - 1)) {
        const bool mine = (kept.repeated >> k & 1) != 0;
        AddInOrder(band.sums, mine ? Meet(p, band, kept, k, tap) : kOutside, values.At(k));
      }
      __syncthreads();
    }
  }
}

// Masks [first, first + kKept*threads). Starts and ends with all threads of the block together.
template <typename T, int V>
__device__ void AddMasks(const Call<T>& call, const Band& band, int64_t first) {
  const Problem& p = call.p;
  Kept kept = LoadKept<V>(p, call.masks, band, first);
  bool any = false;
#pragma unroll
  for (int k = 0; k < kKept; ++k) any |= kept.IsIn(p, k);
  ClearTables(band.tables);
  if (!__syncthreads_or(any)) return;
  const T* row = call.grad_col + band.channel * p.taps() * p.masks + first + threadIdx.x * V;
  Values<T, V> next = LoadValues<T, V>(p, kept, row);
  const bool repeated = FindRepeated(p, band.tables, &kept);
  int2 tap = {0, 0};
#pragma unroll 1
  while (tap.x < p.kernel_h) {
    const Values<T, V> values = next;
    const int2 now = tap;
    if (++tap.y == p.kernel_w) tap = {tap.x + 1, 0};
    row += p.masks;
    if (tap.x < p.kernel_h) next = LoadValues<T, V>(p, kept, row);
    AddSingles<T, V>(p, band, kept, values, now);
    if (repeated) AddInTurns<T, V>(p, band, kept, values, now);
    __syncthreads();
  }
}

template <typename T>
__device__ void WriteBand(const Call<T>& call, const Band& band) {
  T* const to = call.grad_feature + band.channel * call.p.plane() + band.begin;
  if (!call.whole_chunks) {
    for (uint32_t k = threadIdx.x; k < band.size; k += blockDim.x) to[k] = Rounded<T>(band.sums[k]);
    return;
  }
  constexpr int kChunk = 16 / sizeof(T);
  for (uint32_t k = threadIdx.x * kChunk; k < band.size; k += blockDim.x * kChunk) {
    Pack<T, kChunk> pack;
#pragma unroll
    for (int v = 0; v < kChunk; ++v) pack.at[v] = Rounded<T>(band.sums[k + v]);
    StorePack(pack, to + k);
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce) SumBands(Call<T> call) {
  const Problem& p = call.p;
  auto* const tables = SharedMemory<Tables>();
  auto* const sums = reinterpret_cast<float*>(tables + 1);
  for (int64_t item = blockIdx.x; item < int64_t{p.channels} * call.bands; item += gridDim.x) {
    const auto begin = static_cast<uint32_t>(item % call.bands * call.band_size);
    const auto left = static_cast<uint32_t>(p.plane()) - begin;
    const Band band = {item / call.bands, begin,
                       std::min(left, static_cast<uint32_t>(call.band_size)), tables, sums};
    const T* const rows = call.grad_col + band.channel * p.taps() * p.masks;
    PrefetchLines(rows, rows + p.taps() * p.masks);
    for (uint32_t k = threadIdx.x; k < band.size; k += blockDim.x) sums[k] = 0;
    for (int64_t first = 0; first < p.masks; first += kKept * int64_t{blockDim.x})
      AddMasks<T, V>(call, band, first);
    WriteBand(call, band);
    __syncthreads();
  }
}

template <typename T, int V>
void LaunchBands(Call<T> call, CudaContext& context) {
  const int64_t plane = call.p.plane(), least = CeilDiv(plane, kMostBand);
  const int64_t wanted = int64_t{context.processors()} * kBlocksOfProcessor / call.p.channels;
  const int64_t bands =
      std::clamp<int64_t>(wanted, least, std::max(least, CeilDiv(plane, kLeastBand)));
  call.band_size = static_cast<int>(CeilDiv(CeilDiv(plane, bands), 8) * 8);
  call.bands = static_cast<int>(CeilDiv(plane, call.band_size));
  call.whole_chunks = IsAligned(call.grad_feature, 16) && plane % (16 / sizeof(T)) == 0;
  const size_t bytes =
      sizeof(Tables) +
      static_cast<size_t>(std::min<int64_t>(call.band_size, plane)) * sizeof(float);
  const int threads = ThreadsFor(CeilDiv(call.p.masks, kKept), kThreads);
  context.Launch(SumBands<T, V>, {int64_t{call.p.channels} * call.bands, threads, bytes}, call);
}

template <typename T>
mluOpStatus_t Run(const Arguments& a, CudaContext& context) {
  Call<T> call = {};
  call.p = MakeProblem(a);
  call.grad_col = a.In<T>("grad_col");
  call.masks = MasksOf(a);
  call.grad_feature = a.Out<T>("grad_feature");
  constexpr int kChunk = 16 / sizeof(T);
  if (call.p.masks == 0) {
    context.Zero(call.grad_feature, a.Tensor("grad_feature").ByteCount());
  } else if (call.masks.HaveGroups(call.p.masks, kChunk) && IsAligned(call.grad_col, 16)) {
    LaunchBands<T, kChunk>(call, context);
  } else {
    LaunchBands<T, 1>(call, context);
  }
  return context.status();
}

}  // namespace

mluOpStatus_t BackwardCuda(const Arguments& arguments, CudaContext& context) {
  return arguments.Type() == MLUOP_DTYPE_HALF ? Run<__half>(arguments, context)
                                              : Run<float>(arguments, context);
}

}  // namespace mluop::masked_im2col
