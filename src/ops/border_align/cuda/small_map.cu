// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices, where a slice of the channels of a whole map fits shared
// memory. A block copies it there while it computes the samples of its edges. Every pixel is read
// from L2 once per block.
#include <cuda_pipeline.h>

#include <algorithm>

#include "cuda/ptx.h"
#include "ops/border_align/cuda/kernels.h"
#include "ops/border_align/cuda/pool.h"
#include "ops/border_align/cuda/tuning.h"

namespace mluop::border_align {
namespace {

constexpr int kPixelBytes = kMapLanes * 16;

// One block fills the registers of an SM.
template <typename T>
constexpr int kThreads = sizeof(T) == 2 ? 640 : 1024;
// Edges that a block pools at a time.
template <typename T>
constexpr int kGroups = kThreads<T> / kMapLanes;

// Division of the work: a block has a slice of the channels and a group of the boxes.
struct WorkSplit {
  int slices;       // of channels
  int parts;        // of boxes
  int part, batch;  // boxes of a group, and boxes computed at a time
};

template <typename T>
struct SmallMapCall {
  ForwardTensors<T> t;
  WorkSplit d;
};

struct StagedEdge {
  EdgeLines lines;              // pixels in shared memory
  bool inside[kSampleThreads];  // all samples of the thread
};

// A block pools one slice of one border of an image, for a part of the boxes.
template <typename T>
__global__ void __launch_bounds__(kThreads<T>)
    PoolMap(const __grid_constant__ SmallMapCall<T> call) {
  auto* const map = DynamicShared<char>();
  const WorkSplit& d = call.d;
  const Problem& p = call.t.p;
  const int samples = static_cast<int>(p.samples()), pixels = p.h * p.w, pixel = kBorders * p.c;
  auto* table = reinterpret_cast<Sample*>(map + pixels * kPixelBytes);
  auto* edges = reinterpret_cast<StagedEdge*>(table + d.batch * samples);
  const int slice = static_cast<int>(blockIdx.x) / d.parts, list = slice / d.slices;
  const int image = list / kBorders, border = list % kBorders;
  const int lane = threadIdx.x % kMapLanes, group = threadIdx.x / kMapLanes;
  const int channel = (slice % d.slices * kMapLanes + lane) * kVector<T>;
  // Starts to copy the map. Lanes without channels copy the first ones.
  const T* from =
      call.t.input + image * pixels * pixel + border * p.c + (channel < p.c ? channel : 0);
  for (int i = group; i < pixels; i += kGroups<T>) {
    __pipeline_memcpy_async(map + i * kPixelBytes + lane * 16, from + i * pixel, 16);
  }
  __pipeline_commit();
  BoxEdge edge = {0, border, 0, MakeAxes(p, border)};
  // From the map's elements to bytes of the copy.
  edge.axes.fixed_stride = edge.axes.fixed_stride / pixel * kPixelBytes;
  edge.axes.moving_stride = edge.axes.moving_stride / pixel * kPixelBytes;
  const uint32_t copy = SharedAddress(map) + lane * 16;
  const int begin = static_cast<int>(blockIdx.x) % d.parts * d.part, end = min(p.k, begin + d.part);
  for (int k = begin; k < end; k += d.batch) {
    const int count = min(d.batch, end - k);
    for (int i = threadIdx.x; i < count * kSampleThreads; i += kThreads<T>) {
      const int e = i / kSampleThreads, first = i % kSampleThreads;
      edge.box = image * p.k + k + e;
      edges[e].inside[first] =
          FindSamples<kSampleThreads>(call.t, edge, first, &edges[e].lines, table + e * samples);
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int e = group; e < count; e += kGroups<T>) {
      const EdgeLines lines = edges[e].lines;
      Pool<T, SharedLines> pool({copy + lines.low, copy + lines.high}, lines);
      pool.AddSamples(edges[e].inside[0] && edges[e].inside[1], table + e * samples, samples);
      if (channel >= p.c) continue;
      pool.Store(call.t.output + lines.result + channel, call.t.argmax + lines.result + channel);
    }
    __syncthreads();
  }
}

// Bytes of shared memory: of the map, and of an edge.
int64_t MapBytes(const Problem& p) { return p.pixels() * kPixelBytes; }
int64_t EdgeBytes(const Problem& p) {
  return p.samples() * static_cast<int64_t>(sizeof(Sample)) +
         static_cast<int64_t>(sizeof(StagedEdge));
}

int64_t SliceCount(const Problem& p, const WorkSplit& d) {
  return int64_t{p.n} * kBorders * d.slices;
}

WorkSplit MakeWorkSplit(const CudaCall<Problem>& call) {
  const Problem& p = call.p;
  WorkSplit d;
  d.slices = static_cast<int>(CeilDiv(p.c, kMapLanes * (IsHalf(call) ? 8 : 4)));
  const int64_t parts = call.context.sm_count() / SliceCount(p, d);
  d.part = static_cast<int>(CeilDiv(p.k, std::clamp<int64_t>(parts, 1, p.k)));
  d.parts = static_cast<int>(CeilDiv(p.k, d.part));  // every group has at least one box
  const int64_t rest =
      std::max<int64_t>(0, static_cast<int64_t>(call.context.shared_bytes()) - MapBytes(p));
  d.batch = static_cast<int>(std::min<int64_t>(d.part, rest / EdgeBytes(p)));
  return d;
}

}  // namespace

// Copying the map is faster only if samples >= pixels and most lanes have channels.
bool FitsShared(const CudaCall<Problem>& call) {
  const Problem& p = call.p;
  if (!CanVectorize(call) || p.c * (IsHalf(call) ? 2 : 4) <= kPixelBytes / 2) return false;
  const WorkSplit d = MakeWorkSplit(call);
  return d.part * p.samples() >= p.pixels() && d.batch >= std::min(d.part, kMinBatch);
}

mluOpStatus_t RunSmallMap(const CudaCall<Problem>& call, void*) {
  const WorkSplit d = MakeWorkSplit(call);
  const auto bytes = static_cast<size_t>(MapBytes(call.p) + d.batch * EdgeBytes(call.p));
  return WithType(call, [&](auto element) {
    using T = decltype(element);
    call.context.Launch(PoolMap<T>, {SliceCount(call.p, d) * d.parts, kThreads<T>, bytes},
                        SmallMapCall<T>{ForwardTensors<T>(call), d});
  });
}

void DescribeSmallMap(const CudaCall<Problem>& call, Plan& plan) {
  const WorkSplit d = MakeWorkSplit(call);
  plan.Add("slices %lld of %d bytes of channels", static_cast<long long>(SliceCount(call.p, d)),
           kPixelBytes);
  plan.Add("box groups %d of %d boxes, batches of %d", d.parts, d.part, d.batch);
}

}  // namespace mluop::border_align
