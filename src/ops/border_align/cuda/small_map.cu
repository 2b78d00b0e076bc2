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

// A block's work: one slice of one border of an image, and a part of the boxes.
template <typename T>
class Block {
 public:
  __device__ Block(const SmallMapCall<T>& call, char* shared)
      : t_(call.t),
        d_(call.d),
        samples_(static_cast<int>(t_.p.samples())),
        map_(shared),
        table_(reinterpret_cast<Sample*>(shared + t_.p.pixels() * kPixelBytes)),
        edges_(reinterpret_cast<StagedEdge*>(table_ + d_.batch * samples_)) {
    const int slice = static_cast<int>(blockIdx.x) / d_.parts, list = slice / d_.slices;
    image_ = list / kBorders;
    border_ = list % kBorders;
    channel_ =
        (slice % d_.slices * kMapLanes + static_cast<int>(threadIdx.x) % kMapLanes) * kVector<T>;
    axes_ = MakeAxes(t_.p, border_);
    // From the map's elements to bytes of the copy.
    const int pixel = kBorders * t_.p.c;
    axes_.fixed_stride = axes_.fixed_stride / pixel * kPixelBytes;
    axes_.moving_stride = axes_.moving_stride / pixel * kPixelBytes;
  }

  __device__ void Run() {
    StartCopy();
    const int begin = static_cast<int>(blockIdx.x) % d_.parts * d_.part;
    const int end = min(t_.p.k, begin + d_.part);
    for (int k = begin; k < end; k += d_.batch) {
      const int count = min(d_.batch, end - k);
      for (int i = threadIdx.x; i < count * kSampleThreads; i += kThreads<T>) {
        FindSamples(i / kSampleThreads, i % kSampleThreads,
                    image_ * t_.p.k + k + i / kSampleThreads);
      }
      __pipeline_wait_prior(0);
      __syncthreads();
      for (int e = threadIdx.x / kMapLanes; e < count; e += kThreads<T> / kMapLanes) {
        PoolEdge(edges_[e], e);
      }
      __syncthreads();
    }
  }

 private:
  // Starts to copy the map. Lanes without channels copy the first ones.
  __device__ void StartCopy() {
    const int pixel = kBorders * t_.p.c, pixels = t_.p.h * t_.p.w;
    const T* from =
        t_.input + image_ * pixels * pixel + border_ * t_.p.c + (channel_ < t_.p.c ? channel_ : 0);
    char* to = map_ + threadIdx.x % kMapLanes * 16;
    for (int i = threadIdx.x / kMapLanes; i < pixels; i += kThreads<T> / kMapLanes) {
      __pipeline_memcpy_async(to + i * kPixelBytes, from + i * pixel, 16);
    }
    __pipeline_commit();
  }

  // Every kSampleThreads-th sample of edge e of the batch, from `first` on.
  __device__ void FindSamples(int e, int first, int box) {
    const Edge edge = MakeEdge(LoadBox(t_.boxes, box), border_, t_.p.pool_size);
    const Neighbours at = FindNeighbours(edge.fixed, axes_.fixed_size);
    edges_[e].inside[first] =
        FillSamples<kSampleThreads>(edge, axes_, at.inside, first, samples_, table_ + e * samples_);
    if (first > 0) return;
    edges_[e].lines = MakeLines(at, axes_.fixed_stride, 0, (box * kBorders + border_) * t_.p.c);
  }

  __device__ void PoolEdge(const StagedEdge& edge, int e) const {
    const uint32_t lane = SharedAddress(map_) + threadIdx.x % kMapLanes * 16;
    const EdgeLines lines = edge.lines;
    Pool<T, SharedLines> pool({lane + lines.low, lane + lines.high}, lines);
    pool.AddSamples(edge.inside[0] && edge.inside[1], table_ + e * samples_, samples_);
    if (channel_ >= t_.p.c) return;
    pool.Store(t_.output + lines.result + channel_, t_.argmax + lines.result + channel_);
  }

  const ForwardTensors<T>& t_;
  const WorkSplit& d_;
  const int samples_;
  char* map_;
  Sample* table_;
  StagedEdge* edges_;
  int image_, border_;
  int channel_;  // the lane's first
  Axes axes_;
};

template <typename T>
__global__ void __launch_bounds__(kThreads<T>)
    PoolMap(const __grid_constant__ SmallMapCall<T> call) {
  Block<T>(call, DynamicShared<char>()).Run();
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
