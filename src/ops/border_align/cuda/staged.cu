// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices, where a slice of the channels of a whole map fits shared
// memory: a block copies it there while it works out the samples of its edges. Every pixel comes from
// the second cache once per block.
#include <cuda_pipeline.h>

#include <algorithm>

#include "ops/border_align/cuda/kernels.h"
#include "ops/border_align/cuda/pool.h"

namespace mluop::border_align {
namespace {

// Lanes that pool an edge, 16 bytes of channels each: what shared memory gives at a time.
constexpr int kLanes = 8;
constexpr int kPixelBytes = kLanes * 16;

// Threads that work out the samples of an edge, taking turns at them.
constexpr int kWalkers = 2;

// One block fills a processor's registers.
template <typename T>
constexpr int kThreads = sizeof(T) == 2 ? 640 : 1024;

// Fewer edges than this at a time would leave threads without any.
constexpr int kLeastBatch = 64;

template <typename T>
struct StagedCall {
  Problem p;
  const T* input;   // [N, H, W, 4*C]
  const T* boxes;   // [N, K, 4]
  T* output;        // [N, K, 4, C]
  int32_t* argmax;  // [N, K, 4, C]
  int slices;       // of channels
  int parts;        // of boxes
  int part, batch;  // boxes of a part, and how many of them are worked out at a time
};

struct StagedEdge {
  float low_weight, high_weight;
  int low, high;           // offsets of the two lines in shared memory
  int result;              // offset of its results
  bool outside[kWalkers];  // whether one of the walker's samples is
};

// Bytes of an edge in shared memory.
int64_t EdgeBytes(const Problem& p) {
  return p.samples() * static_cast<int64_t>(sizeof(Sample)) +
         static_cast<int64_t>(sizeof(StagedEdge));
}

// A block's work: one slice of one border of an image, and a part of the boxes.
template <typename T>
class Block {
 public:
  static constexpr int kVector = 16 / sizeof(T);

  __device__ Block(const StagedCall<T>& call, char* shared)
      : call_(call),
        samples_(static_cast<int>(call.p.samples())),
        map_(shared),
        table_(reinterpret_cast<Sample*>(shared + call.p.pixels() * kPixelBytes)),
        edges_(reinterpret_cast<StagedEdge*>(table_ + call.batch * samples_)) {
    const int share = static_cast<int>(blockIdx.x) / call.parts, list = share / call.slices;
    image_ = list / kBorders;
    border_ = list % kBorders;
    channel_ = (share % call.slices * kLanes + static_cast<int>(threadIdx.x) % kLanes) * kVector;
    axes_ = MakeAxes(call.p, border_);
    // From the map's elements to bytes of the copy.
    const int pixel = kBorders * call.p.c;
    axes_.fixed_stride = axes_.fixed_stride / pixel * kPixelBytes;
    axes_.moving_stride = axes_.moving_stride / pixel * kPixelBytes;
  }

  __device__ void Run() {
    CopyMap();
    const int begin = static_cast<int>(blockIdx.x) % call_.parts * call_.part;
    const int end = min(call_.p.k, begin + call_.part);
    for (int k = begin; k < end; k += call_.batch) {
      const int count = min(call_.batch, end - k);
      for (int i = threadIdx.x; i < count * kWalkers; i += kThreads<T>) {
        FindSamples(i / kWalkers, i % kWalkers, image_ * call_.p.k + k + i / kWalkers);
      }
      __pipeline_wait_prior(0);
      __syncthreads();
      for (int e = threadIdx.x / kLanes; e < count; e += kThreads<T> / kLanes)
        PoolEdge(edges_[e], e);
      __syncthreads();
    }
  }

 private:
  // Starts to. Lanes without channels take the first ones.
  __device__ void CopyMap() {
    const int pixel = kBorders * call_.p.c, pixels = call_.p.h * call_.p.w;
    const T* from = call_.input + image_ * pixels * pixel + border_ * call_.p.c +
                    (channel_ < call_.p.c ? channel_ : 0);
    char* to = map_ + threadIdx.x % kLanes * 16;
    for (int i = threadIdx.x / kLanes; i < pixels; i += kThreads<T> / kLanes) {
      __pipeline_memcpy_async(to + i * kPixelBytes, from + i * pixel, 16);
    }
    __pipeline_commit();
  }

  // Every kWalkers-th sample of edge e of the batch, from `first` on.
  __device__ void FindSamples(int e, int first, int box) {
    const Edge edge = MakeEdge(LoadBox(call_.boxes, box), border_, call_.p.pool_size);
    const Neighbours lines = FindNeighbours(edge.fixed, axes_.fixed_size);
    bool inside = true;
    Walk<kWalkers>(edge, first).Next(samples_, [&](int i, float position) {
      Neighbours at = FindNeighbours(position, axes_.moving_size);
      at.inside = at.inside && lines.inside;
      inside = inside && at.inside;
      table_[e * samples_ + i] = MakeSample(at, axes_.moving_stride);
    });
    StagedEdge& staged = edges_[e];
    staged.outside[first] = !inside;
    if (first > 0) return;
    staged.low_weight = lines.low_weight;
    staged.high_weight = lines.high_weight;
    staged.low = lines.low * axes_.fixed_stride;
    staged.high = lines.high * axes_.fixed_stride;
    staged.result = (box * kBorders + border_) * call_.p.c;
  }

  __device__ void PoolEdge(const StagedEdge& edge, int e) const {
    const auto map = static_cast<uint32_t>(__cvta_generic_to_shared(map_));
    const uint32_t lane = map + threadIdx.x % kLanes * 16;
    Pool<T, kVector, SharedLines<T>> pool({lane + edge.low, lane + edge.high}, edge.low_weight,
                                          edge.high_weight);
    if (edge.outside[0] || edge.outside[1]) {
      pool.template AddSamples<false>(table_ + e * samples_, samples_, 0);
    } else {
      pool.template AddSamples<true>(table_ + e * samples_, samples_, 0);
    }
    if (channel_ >= call_.p.c) return;
    pool.Store(call_.output + edge.result + channel_, call_.argmax + edge.result + channel_);
  }

  const StagedCall<T>& call_;
  const int samples_;
  char* map_;
  Sample* table_;
  StagedEdge* edges_;
  int image_, border_;
  int channel_;  // the lane's first
  Axes axes_;
};

template <typename T>
__global__ void __launch_bounds__(kThreads<T>) PoolMap(const __grid_constant__ StagedCall<T> call) {
  extern __shared__ __align__(16) char shared[];
  Block<T>(call, shared).Run();
}

template <typename T>
bool Forward(const Arguments& a, CudaContext& context) {
  constexpr int kVector = 16 / sizeof(T);
  StagedCall<T> call = {MakeProblem(a),
                        a.In<T>("input"),
                        a.In<T>("boxes"),
                        a.Out<T>("output"),
                        a.Out<int32_t>("argmax_idx"),
                        0,
                        0,
                        0,
                        0};
  const Problem& p = call.p;
  if (p.c % kVector != 0 || p.c <= kLanes * kVector / 2 || !IsAligned(call.input) ||
      !IsAligned(call.output) || !IsAligned(call.argmax)) {
    return false;
  }
  call.slices = static_cast<int>(CeilDiv(p.c, kLanes * kVector));
  const int64_t shares = int64_t{p.n} * kBorders * call.slices;
  call.parts = static_cast<int>(std::clamp<int64_t>(context.sm_count() / shares, 1, p.k));
  call.part = static_cast<int>(CeilDiv(p.k, call.parts));
  call.parts = static_cast<int>(CeilDiv(p.k, call.part));  // none is without a box
  const int64_t map = p.pixels() * kPixelBytes, room = context.shared_bytes();
  // Fewer samples than pixels are not worth a copy of the map.
  if (map > room || call.part * p.samples() < p.pixels()) return false;
  call.batch = static_cast<int>(std::min<int64_t>(call.part, (room - map) / EdgeBytes(p)));
  if (call.batch < std::min(call.part, kLeastBatch)) return false;
  const auto bytes = static_cast<size_t>(map + call.batch * EdgeBytes(p));
  context.Launch(PoolMap<T>, {shares * call.parts, kThreads<T>, bytes}, call);
  return true;
}

}  // namespace

bool StagedForwardCuda(const Arguments& a, CudaContext& context) {
  return a.Type() == MLUOP_DTYPE_HALF ? Forward<__half>(a, context) : Forward<float>(a, context);
}

}  // namespace mluop::border_align
