// SPDX-License-Identifier: Apache-2.0
// How the CPU kernels of both directions divide the work: an owner is a slice of the channels of
// one border of one image, with a packed float copy [H, W, slice] of its part of the map. Packed,
// because the pixels of a slice are 4*C elements apart in the tensor, often a power of two, and
// then share a few sets of the cache.
#pragma once

#include <cstdint>

#include "ops/border_align/problem.h"

namespace mluop::border_align {

// Boxes, and samples of each, whose weights are worked out at once.
inline constexpr int kBatch = 16;
inline constexpr int kWindow = 32;

struct Slices {
  int size;       // channels of a slice; the last of a border may have fewer
  int64_t count;  // of one border
};

inline Slices MakeSlices(const Problem& p, int size) {
  return {size, (int64_t{p.c} + size - 1) / size};
}

// An owner as an index into [N, 4, slices], taken apart.
struct Owner {
  int64_t image;
  int border;
  int64_t channel;  // the first
  int channels;
};

// Few boxes on a large map do not touch enough of it to pay for a packed copy.
inline bool FewSamples(const Problem& p) {
  return (p.samples() < p.pixels() ? p.samples() : p.pixels()) * p.k < 2 * p.pixels();
}

inline constexpr int64_t kCacheFloats = 1 << 20;
inline constexpr int64_t kMostFloats = 1 << 22;

// Wide slices work out a border's samples less often and copy long rows; narrow ones stay in a
// cache and keep all threads busy. Only a map too large for any cache goes below a cache line of
// floats.
inline Slices ChooseSlices(const Problem& p, int threads) {
  constexpr int kWidest = 64;
  constexpr int kLine = 16;
  const int64_t most = FewSamples(p) ? kMostFloats : kCacheFloats;
  int size = kWidest;
  const auto owners = [&] { return MakeSlices(p, size).count * p.n * kBorders; };
  while (size > kLine && (p.pixels() * size > most || owners() < 4 * threads)) size /= 2;
  while (size > 1 && (p.pixels() * size > kMostFloats || size / 2 >= p.c)) size /= 2;
  return MakeSlices(p, size);
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

}  // namespace mluop::border_align
