// SPDX-License-Identifier: Apache-2.0
// border_align backward on CUDA devices: the edges of an owner in shared memory, and where the
// samples of each lie in the owner's sums.
#pragma once

#include "cuda/ptx.h"
#include "ops/border_align/cuda/owners.h"

namespace mluop::border_align {

static_assert(kBatch == kWarpLanes);   // a lane computes the places of an edge
inline constexpr int kMaxWindow = 32;  // samples at a time
// A sample's lower pixel, as bytes into a warp's sums, and the weight of the higher one. Aligned so
// that one instruction loads it.
struct alignas(8) Place {
  uint32_t low;
  float above;
};

// The edges of a batch that touch the owner's line. Unused entries read the gradients of box 0, and
// all their samples go to the dummy slots.
struct __align__(16) LineEdges {
  int offset[kBatch];    // of an edge's gradients, in elements
  float weight[kBatch];  // of the line
  float start[kBatch], step[kBatch];
};

// An odd pitch avoids bank conflicts.
MLUOP_HOST_DEVICE constexpr int RowPitch(int window) { return (window + 1) | 1; }

// A block's shared memory, as one of its warps sees it.
struct Shared {
  float* sums;       // [pixels + kExtraSums, 32], of the warp
  LineEdges* edges;  // [2], of the warp
  Place* places;     // [2, kBatch, row], of the block
  int row;
};

inline size_t SharedBytes(const Division& call) {
  return call.warps * (call.sums() * sizeof(float) + 2 * sizeof(LineEdges)) +
         size_t{2} * kBatch * RowPitch(call.window) * sizeof(Place);
}

__device__ inline Shared MakeShared(const Division& call) {
  auto* const memory = DynamicShared<float>();
  const int warp = threadIdx.x / kWarpLanes, sums = call.sums();
  auto* edges = reinterpret_cast<LineEdges*>(memory + call.warps * sums);
  auto* places = reinterpret_cast<Place*>(edges + call.warps * 2);
  return {memory + warp * sums, edges + warp * 2, places, RowPitch(call.window)};
}

// Reads a chunk of the owner's edges batch by batch; each warp reads all of them. Loads of boxes
// and their ranks are in flight while earlier batches are added.
template <typename T>
class Reader {
 public:
  // Candidates [begin, end).
  __device__ Reader(const BackwardCall<T>& call, const Owner& owner, const Candidates& candidates,
                    int begin, int end)
      : call_(call),
        owner_(owner),
        candidates_(candidates),
        order_(call.lists.order + int64_t{owner.list()} * call.p.k),
        at_(begin),
        end_(end) {
    FindBox(begin + Lane());
    FetchBox();
  }

  __device__ bool more() const { return at_ < end_; }

  // Puts the next candidates that touch the owner's line into `edges`; returns how many.
  __device__ int Next(LineEdges* edges) {
    const Edge edge = MakeEdge(box_, owner_.border, call_.p.pool_size);
    const Neighbours at = FindNeighbours(edge.fixed, owner_.lines);
    const bool touches = box_k_ >= 0 && at.inside && at.low == box_run_.low;
    const unsigned all = __ballot_sync(kWholeWarp, touches);
    const int count = __popc(all);
    // Places edges that do not touch the line last.
    const unsigned before = (1u << Lane()) - 1;
    const int place = touches ? __popc(all & before) : count + __popc(~all & before);
    edges->offset[place] = touches ? box_k_ * kBorders * call_.p.c : 0;
    edges->weight[place] = box_run_.high == 1 ? at.high_weight : at.low_weight;
    edges->start[place] = edge.start;
    edges->step[place] = edge.step;
    __syncwarp();
    at_ += kBatch;
    FetchBox();
    return count;
  }

 private:
  static __device__ int Lane() { return threadIdx.x % kWarpLanes; }

  __device__ void FetchBox() {
    box_k_ = k_;
    box_run_ = run_;
    if (k_ >= 0) box_ = LoadBox(call_.boxes, int64_t{owner_.image} * call_.p.k + k_);
    FindBox(at_ + kBatch + Lane());
  }

  // Finds the i-th candidate; k_ is -1 beyond the last.
  __device__ void FindBox(int i) { k_ = i < end_ ? order_[candidates_.Find(i, run_)] : -1; }

  const BackwardCall<T>& call_;
  const Owner owner_;
  const Candidates candidates_;
  const int32_t* const order_;  // [K]
  int at_;                      // the first candidate of the next batch
  const int end_;
  int box_k_, k_;
  EdgeRange box_run_, run_;
  Box box_ = {};
};

// Fills the places of the warp's samples among the next `samples`, one edge per lane, and after
// them the dummy place. `valid`: the lane has an edge.
template <int kWarps>
__device__ void FillPlaces(const Owner& owner, int samples, bool valid, Walk<kWarps>& walk,
                           Place* places) {
  constexpr uint32_t kPixelBytes = kWarpLanes * sizeof(float);
  const uint32_t dummy = (owner.pixels + 2) * kPixelBytes;
  if (threadIdx.x < kWarpLanes) places[samples] = {dummy, 0};
  walk.Next(samples, [&](int i, float position) {
    const Neighbours at = FindNeighbours(position, owner.size);
    const int slot = at.low - owner.first + 1;
    const bool is_owned = valid && at.inside && slot >= 0 && slot <= owner.pixels;
    places[i] = {is_owned ? slot * kPixelBytes : dummy, at.high_weight};
  });
}

// A batch and the samples of it that have places.
struct Batch {
  const LineEdges* edges;
  const Place* places;  // [kBatch, row]
  int count;
  uint32_t begin, samples;
};

// Visits the edges of a reader batch by batch, and the samples of a batch window by window.
template <typename T, int kWarps>
class Batches {
 public:
  __device__ Batches(const BackwardCall<T>& call, const Owner& owner, const Shared& shared,
                     const Reader<T>& reader)
      : reader_(reader),
        owner_(owner),
        shared_(shared),
        window_(call.window),
        all_(static_cast<uint32_t>(call.p.samples())),
        begin_(all_) {}

  // Computes the next places; false: there are none.
  __device__ bool Next(Batch& batch) {
    const int lane = threadIdx.x % kWarpLanes;
    begin_ += window_;
    if (begin_ >= all_) {
      if (!reader_.more()) return false;
      begin_ = 0;
      edges_ ^= 1;
      LineEdges* edges = shared_.edges + edges_;
      count_ = reader_.Next(edges);
      walk_ = Walk<kWarps>({edges->start[lane], edges->step[lane], 0}, threadIdx.x / kWarpLanes);
    }
    places_ ^= 1;
    Place* places = shared_.places + places_ * kBatch * shared_.row;
    batch = {shared_.edges + edges_, places, count_, begin_, min(window_, all_ - begin_)};
    FillPlaces(owner_, static_cast<int>(batch.samples), lane < count_, walk_,
               places + lane * shared_.row);
    return true;
  }

 private:
  Reader<T> reader_;
  const Owner owner_;
  const Shared shared_;
  const uint32_t window_, all_;
  uint32_t begin_;              // of the window
  int count_ = 0;               // edges of the batch
  int edges_ = 0, places_ = 0;  // 0 or 1: index of the double buffers
  Walk<kWarps> walk_;
};

}  // namespace mluop::border_align
