// SPDX-License-Identifier: Apache-2.0
// masked_im2col forward on CUDA devices. Bound by bytes: data_col is written once, and what the
// masks need of the feature read once. A block copies a whole plane to shared memory while the masks
// come, and gathers from there: four-byte reads of scattered places cost a cycle or a few in shared
// memory, a sector each from the caches.
#include <cuda_pipeline.h>

#include <algorithm>

#include "ops/masked_im2col/cuda/kernels.h"

namespace mluop::masked_im2col {
namespace {

// Two blocks a processor with 64 registers a thread: one loads its plane while the other stores.
constexpr int kStagedThreads = 512;
constexpr int kDirectThreads = 256;
constexpr int kBlocksOfProcessor = 8;  // of kDirectThreads
// One block a processor, of two planes.
constexpr int kTwoThreads = 1024;
// Masks of a thread: stores of 16 bytes for float, 8 for half.
constexpr int kWide = 4;
// Elements of a kernel row that are read before the first of them is stored.
constexpr uint32_t kTaps = 3;
constexpr int64_t kSector = 32;

template <typename T>
struct Call {
  Problem p;
  const T* feature;
  Masks masks;
  T* data_col;
  int parts;          // of the masks, for different blocks
  int slices;         // of the channels, likewise; not where planes are staged
  bool whole_chunks;  // planes begin and end where 16-byte loads may
};

template <int V>
struct Corners {
  int32_t top[V], left[V];
};

template <int V>
__device__ Corners<V> LoadCorners(const Problem& p, const Masks& masks, int64_t group) {
  Corners<V> corners;
  LoadIntegers<V>(masks.h + group * V, corners.top);
  LoadIntegers<V>(masks.w + group * V, corners.left);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    corners.top[v] = p.Top(corners.top[v]);
    corners.left[v] = p.Left(corners.left[v]);
  }
  return corners;
}

// One kernel row of V masks. Unsigned sums that wrap: a cut corner plus a kernel index lies above
// -2^31 and below 2^32, so that one comparison tells inside from outside.
template <int V>
struct KernelRow {
  uint32_t start[V];  // of the feature's row in a plane
  uint32_t left[V];
  bool inside[V];
};

template <int V>
__device__ KernelRow<V> KernelRowOf(const Problem& p, const Corners<V>& corners, int i) {
  KernelRow<V> row;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const uint32_t h = static_cast<uint32_t>(corners.top[v]) + static_cast<uint32_t>(i);
    row.start[v] = h * static_cast<uint32_t>(p.width);
    row.left[v] = static_cast<uint32_t>(corners.left[v]);
    row.inside[v] = h < static_cast<uint32_t>(p.height);
  }
  return row;
}

// Elements j to j+kTaps of a kernel row, to as many rows of data_col.
template <typename T, int V, class Read>
__device__ void CopyTaps(const Problem& p, const KernelRow<V>& row, uint32_t j, Read read, T* to) {
  const uint32_t taps = static_cast<uint32_t>(p.kernel_w) - j;
  Pack<T, V> packs[kTaps];
#pragma unroll
  for (uint32_t u = 0; u < kTaps; ++u) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const uint32_t w = row.left[v] + j + u;
      const bool inside = u < taps && row.inside[v] && w < static_cast<uint32_t>(p.width);
      packs[u].at[v] = inside ? read(row.start[v] + w) : T{0};
    }
  }
#pragma unroll
  for (uint32_t u = 0; u < kTaps; ++u) {
    if (u < taps) StorePack(packs[u], to + int64_t{u} * p.masks);
  }
}

// The kernels of V masks in one channel. read(offset): an element of the channel's plane.
template <typename T, int V, class Read>
__device__ void CopyKernels(const Problem& p, const Corners<V>& corners, Read read, T* to) {
  const auto kernel_w = static_cast<uint32_t>(p.kernel_w);
  for (int i = 0; i < p.kernel_h; ++i, to += int64_t{p.kernel_w} * p.masks) {
    const KernelRow<V> row = KernelRowOf(p, corners, i);
    for (uint32_t j = 0; j < kernel_w; j += kTaps)
      CopyTaps<T, V>(p, row, j, read, to + int64_t{j} * p.masks);
  }
}

template <typename T>
__device__ T* ColumnOf(const Call<T>& call, int64_t channel, int64_t mask) {
  return call.data_col + channel * call.p.taps() * call.p.masks + mask;
}

template <typename T>
__device__ void StartPlane(const Call<T>& call, int64_t channel, T* plane) {
  const auto size = static_cast<int>(call.p.plane());
  const T* from = call.feature + channel * size;
  if (call.whole_chunks) {
    constexpr int kChunk = 16 / sizeof(T);
    for (int k = threadIdx.x * kChunk; k < size; k += blockDim.x * kChunk)
      __pipeline_memcpy_async(plane + k, from + k, 16);
    __pipeline_commit();
  } else {
#pragma unroll 4
    for (int k = threadIdx.x; k < size; k += blockDim.x) plane[k] = __ldg(from + k);
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kStagedThreads, 2) GatherStaged(Call<T> call) {
  T* const plane = SharedMemory<T>();
  const auto read = [=](uint32_t offset) { return plane[offset]; };
  const int64_t groups = call.p.masks / V, step = int64_t{call.parts} * blockDim.x;
  const int64_t items = int64_t{call.p.channels} * call.parts;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const int64_t channel = item / call.parts;
    int64_t group = item % call.parts * blockDim.x + threadIdx.x;
    StartPlane(call, channel, plane);
    Corners<V> corners = {};
    if (group < groups) corners = LoadCorners<V>(call.p, call.masks, group);
    __pipeline_wait_prior(0);
    __syncthreads();
    while (group < groups) {
      CopyKernels<T, V>(call.p, corners, read, ColumnOf(call, channel, group * V));
      group += step;
      if (group < groups) corners = LoadCorners<V>(call.p, call.masks, group);
    }
    __syncthreads();
  }
}

// Two planes at a time: one comes while the other is gathered from. 0.95 of the time of one for half.
template <typename T, int V>
__global__ void __launch_bounds__(kTwoThreads) GatherTwo(Call<T> call) {
  const int64_t groups = call.p.masks / V, plane = call.p.plane();
  T* const planes = SharedMemory<T>();
  int64_t channel = blockIdx.x;
  StartPlane(call, channel, planes);
  const int64_t own = threadIdx.x;
  Corners<V> corners = {};
  if (own < groups) corners = LoadCorners<V>(call.p, call.masks, own);
  for (int at = 0; channel < call.p.channels; at ^= 1, channel += gridDim.x) {
    const T* const now = planes + at * plane;
    const auto read = [=](uint32_t offset) { return now[offset]; };
    if (channel + gridDim.x < call.p.channels) {
      StartPlane(call, channel + gridDim.x, planes + (at ^ 1) * plane);
      if (call.whole_chunks) __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    for (int64_t group = own; group < groups; group += blockDim.x) {
      if (groups > blockDim.x) corners = LoadCorners<V>(call.p, call.masks, group);
      CopyKernels<T, V>(call.p, corners, read, ColumnOf(call, channel, group * V));
    }
    __syncthreads();
  }
}

// Straight from the caches: for large planes, and where the masks need little of one. Lanes have
// neighbouring masks, whose elements lie in few sectors where masks are sorted.
template <typename T, int V>
__global__ void __launch_bounds__(kDirectThreads) GatherDirect(Call<T> call) {
  const int64_t groups = call.p.masks / V, items = int64_t{call.parts} * call.slices;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const int64_t group = item % call.parts * blockDim.x + threadIdx.x;
    if (group >= groups) continue;
    const Corners<V> corners = LoadCorners<V>(call.p, call.masks, group);
    for (int64_t channel = item / call.parts; channel < call.p.channels; channel += call.slices) {
      const T* const plane = call.feature + channel * call.p.plane();
      const auto read = [=](uint32_t offset) { return __ldg(plane + offset); };
      CopyKernels<T, V>(call.p, corners, read, ColumnOf(call, channel, group * V));
    }
  }
}

// Whether a plane fits, and scattered masks would touch most of its sectors anyway.
template <typename T>
bool StagingPays(const Problem& p) {
  const auto bytes = p.plane() * static_cast<int64_t>(sizeof(T));
  const auto row_bytes = std::max(p.kernel_w * static_cast<int64_t>(sizeof(T)), kSector);
  return bytes <= static_cast<int64_t>(kMostShared) &&
         int64_t{p.masks} * p.kernel_h * row_bytes >= bytes;
}

template <typename T, int V>
void LaunchStaged(Call<T> call, CudaContext& context) {
  const Problem& p = call.p;
  const int64_t groups = p.masks / V;
  // Few channels: several blocks share one, and each copies its plane.
  call.parts = static_cast<int>(
      std::clamp<int64_t>(2 * context.sm_count() / p.channels, 1, CeilDiv(groups, 64)));
  const size_t bytes = static_cast<size_t>(p.plane()) * sizeof(T);
  call.whole_chunks = IsAligned(call.feature, 16) && bytes % 16 == 0;
  const int threads = ThreadsFor(CeilDiv(groups, call.parts), kStagedThreads);
  context.Launch(GatherStaged<T, V>, {int64_t{p.channels} * call.parts, threads, bytes}, call);
}

// Whether two planes fit, processors get more than one, and threads masks.
template <typename T>
bool TwoPay(const CudaContext& context, const Problem& p) {
  return 2 * p.plane() * static_cast<int64_t>(sizeof(T)) <= static_cast<int64_t>(kMostShared) &&
         p.channels > context.sm_count() && p.masks >= kTwoThreads * kWide / 2;
}

template <typename T, int V>
void LaunchTwo(Call<T> call, CudaContext& context) {
  const size_t bytes = static_cast<size_t>(call.p.plane()) * sizeof(T);
  call.whole_chunks = IsAligned(call.feature, 16) && bytes % 16 == 0;
  const int threads = ThreadsFor(call.p.masks / V, kTwoThreads);
  context.Launch(GatherTwo<T, V>, {context.sm_count(), threads, 2 * bytes}, call);
}

template <typename T, int V>
void LaunchDirect(Call<T> call, CudaContext& context) {
  const int64_t wanted = int64_t{context.sm_count()} * kBlocksOfProcessor;
  call.parts = static_cast<int>(CeilDiv(call.p.masks / V, kDirectThreads));
  call.slices = static_cast<int>(std::min<int64_t>(call.p.channels, CeilDiv(wanted, call.parts)));
  context.Launch(GatherDirect<T, V>, {int64_t{call.parts} * call.slices, kDirectThreads}, call);
}

template <typename T>
mluOpStatus_t Run(const Arguments& arguments, CudaContext& context) {
  Call<T> call = {};
  call.p = MakeProblem(arguments);
  call.feature = arguments.In<T>("feature");
  call.masks = MasksOf(arguments);
  call.data_col = arguments.Out<T>("data_col");
  const auto groups_of = [&](int V) {
    return call.masks.HaveGroups(call.p.masks, V) &&
           IsAligned(call.data_col, static_cast<size_t>(V) * sizeof(T));
  };
  constexpr int kPair = 4 / sizeof(T);
  // Small problems are bound by latency: many threads that do little each.
  const bool large = int64_t{call.p.channels} * call.p.masks >=
                     int64_t{context.sm_count()} * kStagedThreads * kWide;
  if (StagingPays<T>(call.p)) {
    if (!large || !groups_of(kWide)) {
      LaunchStaged<T, 1>(call, context);
    } else if (TwoPay<T>(context, call.p)) {
      LaunchTwo<T, kWide>(call, context);
    } else {
      LaunchStaged<T, kWide>(call, context);
    }
  } else {
    groups_of(kPair) ? LaunchDirect<T, kPair>(call, context) : LaunchDirect<T, 1>(call, context);
  }
  return context.status();
}

}  // namespace

mluOpStatus_t ForwardCuda(const Arguments& arguments, CudaContext& context) {
  return arguments.Type() == MLUOP_DTYPE_HALF ? Run<uint16_t>(arguments, context)
                                              : Run<uint32_t>(arguments, context);
}

}  // namespace mluop::masked_im2col
