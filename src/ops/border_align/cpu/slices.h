// SPDX-License-Identifier: Apache-2.0
// How the CPU kernels of both directions divide the work. An owner is a slice of the channels of
// one border of one image, with a packed float copy of its part of the map: in the tensor the pixels
// of a slice are 4*C elements apart, often a power of two, and then share a few sets of the cache.
// The copy lies in strips [H, W, strip], narrow enough that the pixels of a few edges stay in the
// first cache; a wide slice of several strips works out its samples once and goes to each of the
// output's pages once.
#pragma once

#include <cstdint>

#include "ops/border_align/cpu/tuning.h"
#include "ops/border_align/problem.h"

namespace mluop::border_align {

// Boxes, and samples of each, whose weights are worked out at once.
inline constexpr int kBatch = 16;
inline constexpr int kWindow = 32;

struct Slices {
  int size;       // channels of a slice; the last of a border may have fewer
  int strip;      // channels of a strip; the last of a slice may have fewer
  int64_t count;  // of one border
};

inline Slices MakeSlices(const Problem& p, int size, int strip) {
  return {size, size < strip ? size : strip, (int64_t{p.c} + size - 1) / size};
}

// An owner as an index into [N, 4, slices], taken apart.
struct Owner {
  int64_t image;
  int border;
  int64_t channel;  // the first
  int channels;
};

// Whether the boxes touch too little of the map for a packed copy of it.
inline bool FewSamples(const Problem& p) {
  return (p.samples() < p.pixels() ? p.samples() : p.pixels()) * p.k < kLeastReads * p.pixels();
}

// One channel of such a map fits no cache, and a copy of it for every thread is more memory than there
// may be.
inline bool IsHuge(const Problem& p) { return p.pixels() > kMostFloats; }

// Narrow slices stay in a cache and keep all threads busy. Only a map too large for any cache goes
// below a cache line of floats.
inline Slices ChooseSlices(const Problem& p, int threads) {
  constexpr int kLine = 16;
  const int64_t most = FewSamples(p) ? kMostFloats : kCacheFloats;
  int size = kWidest;
  const auto owners = [&] { return MakeSlices(p, size, kStrip).count * p.n * kBorders; };
  while (size > kLine && (p.pixels() * size > most || owners() < 4 * threads)) size /= 2;
  while (size > 1 && (p.pixels() * size > kMostFloats || size / 2 >= p.c)) size /= 2;
  return MakeSlices(p, size, kStrip);
}

inline Owner MakeOwner(const Problem& p, const Slices& slices, int64_t owner) {
  const int64_t channel = owner % slices.count * slices.size;
  const int64_t left = p.c - channel;
  return {owner / slices.count / kBorders, static_cast<int>(owner / slices.count % kBorders),
          channel, static_cast<int>(left < slices.size ? left : slices.size)};
}

// The owner's first element in a tensor [N, H, W, 4*C].
inline int64_t MapOffset(const Problem& p, const Owner& owner) {
  return owner.image * p.pixels() * p.channels() + int64_t{owner.border} * p.c + owner.channel;
}

// The owner's first element of a box in a tensor [N, K, 4, C].
inline int64_t RowOffset(const Problem& p, const Owner& owner, int64_t box) {
  return ((owner.image * p.k + box) * kBorders + owner.border) * p.c + owner.channel;
}

// Boxes whose samples are worked out at once.
struct Batch {
  int count;
  int32_t box[kBatch];
};

// The batch from place `first` on. order: [N, 4, K], the boxes of a border in the order they are
// taken in; NULL: as they come.
inline Batch MakeBatch(const Problem& p, const int32_t* order, const Owner& owner, int64_t first) {
  Batch batch;
  batch.count = static_cast<int>(p.k - first < kBatch ? p.k - first : kBatch);
  if (order != nullptr) order += (owner.image * kBorders + owner.border) * p.k;
  for (int e = 0; e < batch.count; ++e) {
    batch.box[e] = order == nullptr ? static_cast<int32_t>(first + e) : order[first + e];
  }
  return batch;
}

}  // namespace mluop::border_align
