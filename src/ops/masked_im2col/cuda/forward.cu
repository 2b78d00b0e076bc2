// SPDX-License-Identifier: Apache-2.0
// masked_im2col forward on CUDA devices. Limited by memory bandwidth: data_col is written once, and
// the feature is read once. "staged" copies a plane to shared memory and gathers from there. A
// scattered read of four bytes takes a few cycles in shared memory and a 32-byte sector from the
// caches.
#include <cuda_pipeline.h>

#include <algorithm>

#include "cuda/for_each.h"
#include "ops/masked_im2col/cuda/kernels.h"

namespace mluop::masked_im2col {
namespace {

template <typename T>
struct ForwardParameters {
  Problem p;
  const T* feature;
  Masks masks;
  T* data_col;
  int parts;          // of the masks, for different blocks
  bool whole_chunks;  // planes start and end at multiples of 16 bytes
};

template <int V>
struct Corners {
  int32_t top[V], left[V];
};

template <int V>
__device__ Corners<V> LoadCorners(const Problem& p, const Masks& masks, int64_t group) {
  Corners<V> corners;
  LoadElements(masks.h + group * V, corners.top);
  LoadElements(masks.w + group * V, corners.left);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    corners.top[v] = p.Top(corners.top[v]);
    corners.left[v] = p.Left(corners.left[v]);
  }
  return corners;
}

// Copies the kTapsInFlight elements from (i, j) on, along a row, of the kernels of V masks in one
// channel. read(h, w) gives an element of the channel's plane. Sums are unsigned and wrap. A
// clamped corner plus a kernel index is above -2^31 and below 2^32, so one unsigned comparison
// tests both bounds.
template <typename T, int V, class Read>
__device__ void CopyTaps(const Problem& p, const Corners<V>& corners, uint32_t i, uint32_t j,
                         Read read, T* to) {
  const uint32_t taps = static_cast<uint32_t>(p.kernel_w) - j;
  Pack<T, V> packs[kTapsInFlight];
#pragma unroll
  for (uint32_t u = 0; u < kTapsInFlight; ++u) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const uint32_t h = static_cast<uint32_t>(corners.top[v]) + i;
      const uint32_t w = static_cast<uint32_t>(corners.left[v]) + j + u;
      const bool inside =
          u < taps && h < static_cast<uint32_t>(p.height) && w < static_cast<uint32_t>(p.width);
      packs[u].at[v] = inside ? read(h, w) : T{0};
    }
  }
#pragma unroll
  for (uint32_t u = 0; u < kTapsInFlight; ++u) {
    if (u < taps) StorePack(packs[u], to + int64_t{u} * p.masks);
  }
}

template <typename T, int V, class Read>
__device__ void CopyKernels(const Problem& p, const Corners<V>& corners, Read read, T* to) {
  const auto kernel_h = static_cast<uint32_t>(p.kernel_h);
  const auto kernel_w = static_cast<uint32_t>(p.kernel_w);
  for (uint32_t i = 0; i < kernel_h; ++i, to += int64_t{p.kernel_w} * p.masks) {
    for (uint32_t j = 0; j < kernel_w; j += kTapsInFlight)
      CopyTaps<T, V>(p, corners, i, j, read, to + int64_t{j} * p.masks);
  }
}

template <typename T>
__device__ T* ColumnOf(const ForwardParameters<T>& f, int64_t channel, int64_t mask) {
  return f.data_col + channel * f.p.taps() * f.p.masks + mask;
}

template <typename T>
__device__ void StartPlane(const ForwardParameters<T>& f, int64_t channel, T* plane) {
  const auto size = static_cast<int>(f.p.plane());
  const T* from = f.feature + channel * size;
  if (f.whole_chunks) {
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
__global__ void __launch_bounds__(kStagedThreads, 2) GatherStaged(ForwardParameters<T> f) {
  T* const plane = DynamicShared<T>();
  const auto width = static_cast<uint32_t>(f.p.width);
  const auto read = [=](uint32_t h, uint32_t w) { return plane[h * width + w]; };
  const int64_t groups = f.p.masks / V, step = int64_t{f.parts} * blockDim.x;
  const int64_t channel = blockIdx.x / f.parts;
  int64_t group = int64_t{blockIdx.x % f.parts} * blockDim.x + threadIdx.x;
  StartPlane(f, channel, plane);
  Corners<V> corners = {};
  if (group < groups) corners = LoadCorners<V>(f.p, f.masks, group);
  __pipeline_wait_prior(0);
  __syncthreads();
  while (group < groups) {
    CopyKernels<T, V>(f.p, corners, read, ColumnOf(f, channel, group * V));
    group += step;
    if (group < groups) corners = LoadCorners<V>(f.p, f.masks, group);
  }
}

// Masks are read and stored V at a time.
template <typename T>
bool CanVectorize(const ForwardParameters<T>& f, int V) {
  return f.masks.CanVectorize(f.p.masks, V) &&
         IsAligned(f.data_col, static_cast<size_t>(V) * sizeof(T));
}

template <typename T>
ForwardParameters<T> ParametersOf(const CudaCall<Problem>& call) {
  ForwardParameters<T> f = {};
  f.p = call.p;
  f.feature = call.arguments.In<T>("feature");
  f.masks = MasksOf(call.arguments);
  f.data_col = call.arguments.Out<T>("data_col");
  f.whole_chunks = IsAligned(f.feature, 16) && f.p.plane() * sizeof(T) % 16 == 0;
  return f;
}

template <typename T, int V>
void LaunchStaged(ForwardParameters<T> f, CudaContext& context) {
  const Problem& p = f.p;
  const int64_t groups = p.masks / V;
  // With few channels several blocks share a channel. Each copies the plane.
  f.parts = static_cast<int>(
      std::clamp<int64_t>(2 * context.sm_count() / p.channels, 1, CeilDiv(groups, 64)));
  const size_t bytes = static_cast<size_t>(p.plane()) * sizeof(T);
  const int threads = ThreadsFor(CeilDiv(groups, f.parts), kStagedThreads);
  context.Launch(GatherStaged<T, V>, {int64_t{p.channels} * f.parts, threads, bytes}, f);
}

// Straight from the caches: for large planes, and where the masks need little of one. Lanes have
// neighbouring masks, whose elements lie in few sectors where masks are sorted.
template <typename T>
void GatherDirect(const ForwardParameters<T>& f, CudaContext& context) {
  // Different threads copy different slices of the channels.
  const int64_t masks = f.p.masks, wanted = int64_t{context.sm_count()} * kDirectThreadsPerSm;
  const int64_t slices = std::min<int64_t>(f.p.channels, CeilDiv(wanted, masks));
  ForEach(context, masks * slices, [=] __device__(int64_t i) {
    const int64_t slice = i / masks, mask = i - slice * masks, width = f.p.width;
    const Corners<1> corners = LoadCorners<1>(f.p, f.masks, mask);
    for (int64_t channel = slice; channel < f.p.channels; channel += slices) {
      const T* const plane = f.feature + channel * f.p.plane();
      const auto read = [=](uint32_t h, uint32_t w) {
        return __ldg(plane + int64_t{h} * width + w);
      };
      CopyKernels<T, 1>(f.p, corners, read, ColumnOf(f, channel, mask));
    }
  });
}

// A plane fits shared memory, and the masks read at least as many bytes, in whole sectors.
bool FitsShared(const CudaCall<Problem>& call) {
  const Problem& p = call.p;
  const auto size = static_cast<int64_t>(ElementBytes(call.arguments));
  const int64_t row_bytes = std::max(p.kernel_w * size, kSectorBytes);
  return p.plane() * size <= static_cast<int64_t>(kMaxShared) &&
         int64_t{p.masks} * p.kernel_h * row_bytes >= p.plane() * size;
}

mluOpStatus_t RunStaged(const CudaCall<Problem>& call, void* /*scratch*/) {
  // Small problems are limited by latency: they use many threads with one mask each.
  const bool large = int64_t{call.p.channels} * call.p.masks >=
                     int64_t{call.context.sm_count()} * kStagedThreads * kWideMasks;
  return WithBits(call, [&](auto zero) {
    const auto f = ParametersOf<decltype(zero)>(call);
    large&& CanVectorize(f, kWideMasks) ? LaunchStaged<decltype(zero), kWideMasks>(f, call.context)
                                        : LaunchStaged<decltype(zero), 1>(f, call.context);
  });
}

mluOpStatus_t RunDirect(const CudaCall<Problem>& call, void* /*scratch*/) {
  return WithAnyBits(
      call, [&](auto zero) { GatherDirect(ParametersOf<decltype(zero)>(call), call.context); });
}

constexpr CudaImplementation<Problem> kForward[] = {
    {"staged", "a plane fits in 64 KiB, and the masks read as many bytes", FitsShared, nullptr,
     RunStaged},
    {"direct", "always", Always, nullptr, RunDirect},
    CudaImplementation<Problem>::ForDouble(RunDirect),
};

}  // namespace

constexpr CudaOperator kForwardCuda = Bind<MakeProblem, kForward>("masked_im2col_forward");

}  // namespace mluop::masked_im2col
