// SPDX-License-Identifier: Apache-2.0
// Divides the work of the CPU implementations (both directions) into slices. A slice is a range of
// the channels of one border of one image. In the tensor its pixels lie 4*C elements apart, often a
// power of two, and then share a few sets of the cache; so most calls work on a packed float copy
// of the slice. The copy lies in blocks [H, W, block] of channels, narrow enough that the pixels of
// a few edges stay in L1. A wide slice of several blocks computes its samples once and visits each
// page of the output once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"
#include "cpu/context.h"
#include "cpu/tuning.h"
#include "ops/border_align/cpu/tuning.h"
#include "ops/border_align/problem.h"

namespace mluop::border_align {

// Size of a sample table: kBatch boxes, kWindow samples of each.
inline constexpr int kBatch = 16;
inline constexpr int kWindow = 32;

struct Slices {
  int size;       // channels of a slice; the last of a border may have fewer
  int block;      // channels of a block; the last of a slice may have fewer
  int64_t count;  // of one border
};

inline Slices MakeSlices(const Problem& p, int size, int block) {
  return {size, std::min(size, block), (int64_t{p.c} + size - 1) / size};
}

inline int64_t SliceCount(const Problem& p, const Slices& slices) {
  return slices.count * p.n * kBorders;
}

// Narrow slices stay in a cache and keep all threads busy. Slices are narrower than a cache line
// only if the map exceeds every cache.
inline Slices ChooseSlices(const CpuCall<Problem>& call, int block) {
  const Problem& p = call.p;
  const int threads = call.context.threads().num_threads();
  constexpr int kLine = 16;
  int size = kMaxSlice;
  const auto few = [&] { return SliceCount(p, MakeSlices(p, size, kBlock)) < 4 * threads; };
  while (size > kLine && (p.pixels() * size > kCacheFloats || few())) size /= 2;
  while (size > 1 && (p.pixels() * size > kMaxFloats || size / 2 >= p.c)) size /= 2;
  return MakeSlices(p, size, block);
}

// Returns true if packing the slices is faster: the boxes read the map several times, and a channel
// of it fits a cache.
template <int64_t kMinReads>
bool ShouldPack(const CpuCall<Problem>& call) {
  const Problem& p = call.p;
  return p.pixels() <= kMaxFloats &&
         std::min(p.samples(), p.pixels()) * p.k >= kMinReads * p.pixels();
}

template <int kMaxBlock>
void DescribeSlices(const CpuCall<Problem>& call, Plan& plan) {
  const Slices slices = ChooseSlices(call, kMaxBlock);
  plan.Add("slices %" PRId64 " of %d channels in blocks of %d", SliceCount(call.p, slices),
           slices.size, slices.block);
}

// Returns true if the outputs are large and aligned for full vectors of every instruction set.
// 0.55x to 0.7x the time on [2, 25, 38, 1024] (one thread of a busy machine).
inline bool ShouldStream(const Problem& p, const Slices& slices, const Arguments& a) {
  constexpr int kLanes = 16;
  const auto aligned = [](const void* data) {
    return reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
  };
  const size_t element = a.Type() == MLUOP_DTYPE_HALF ? sizeof(Half) : sizeof(float);
  const auto count = static_cast<size_t>(int64_t{p.n} * p.k * p.channels());
  return mluop::ShouldStream(count * (element + sizeof(int32_t))) && p.c % kLanes == 0 &&
         slices.block % kLanes == 0 && aligned(a.Out<void>("output")) &&
         aligned(a.Out<void>("argmax_idx"));
}

// Holds the parameters of the kernels; tensors are half or float.
struct KernelCall {
  const Problem& p;
  const Arguments& arguments;
  Slices slices;
  const int32_t* order;  // [N, 4, K]: the order of a border's boxes; NULL: ascending
  bool stream = false;   // non-temporal stores; every vector of the outputs is whole and aligned

  bool half() const { return arguments.Type() == MLUOP_DTYPE_HALF; }
};

// One element of the slice grid [N, 4, slices].
struct Slice {
  int64_t image;
  int border;
  int64_t channel;  // the first
  int channels;
};

inline Slice MakeSlice(const Problem& p, const Slices& slices, int64_t index) {
  const int64_t channel = index % slices.count * slices.size;
  return {index / slices.count / kBorders, static_cast<int>(index / slices.count % kBorders),
          channel, static_cast<int>(std::min<int64_t>(p.c - channel, slices.size))};
}

// A slice's channels at all pixels, in blocks. Strides are in elements.
template <typename T>
struct SliceMap {
  T* data;
  int64_t pixel_stride, block_stride;
};

template <typename T>
SliceMap<T> PackedMap(const Problem& p, const Slices& slices, T* packed) {
  return {packed, slices.block, p.pixels() * slices.block};
}

// Floats of a packed slice, in whole cache lines.
inline int64_t PackedSize(const Problem& p, const Slices& slices) {
  return WholeLines(p.pixels() * slices.size);
}

// The slice in a tensor [N, H, W, 4*C].
template <typename T>
SliceMap<T> TensorMap(const Problem& p, const Slices& slices, const Slice& slice, T* tensor) {
  const int64_t first = slice.image * p.pixels() * p.channels() + int64_t{slice.border} * p.c;
  return {tensor + first + slice.channel, p.channels(), slices.block};
}

// A row of the slice's channels for each box of the image.
template <typename T>
struct BoxRows {
  T* data;
  int64_t stride;

  T* At(int64_t box) const { return data + box * stride; }
};

// The slice in a tensor [N, K, 4, C].
template <typename T>
BoxRows<T> TensorRows(const Problem& p, const Slice& slice, T* tensor) {
  const int64_t first = slice.image * p.k * kBorders + slice.border;
  return {tensor + first * p.c + slice.channel, p.channels()};
}

// Boxes whose samples are computed at once.
struct Batch {
  int count;
  int32_t box[kBatch];
};

inline int64_t BatchCount(const Problem& p) { return (int64_t{p.k} + kBatch - 1) / kBatch; }

// The batch from rank `first` on.
inline Batch MakeBatch(const KernelCall& call, const Slice& slice, int64_t first) {
  Batch batch;
  batch.count = static_cast<int>(std::min<int64_t>(call.p.k - first, kBatch));
  const int64_t rank = (slice.image * kBorders + slice.border) * call.p.k + first;
  for (int e = 0; e < batch.count; ++e) {
    batch.box[e] = call.order == nullptr ? static_cast<int32_t>(first + e) : call.order[rank + e];
  }
  return batch;
}

}  // namespace mluop::border_align
