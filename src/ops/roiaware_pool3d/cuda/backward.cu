// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on CUDA devices: threads walk the channels of the voxels, skip what names
// no point, and add the rest to the points' sums. Sparse scenes are bound by the bytes of argmax or
// by the sectors of the counts, dense ones by the additions.
#include <algorithm>
#include <bit>

#include "ops/roiaware_pool3d/cuda/average.h"
#include "ops/roiaware_pool3d/cuda/scatter.h"
#include "ops/roiaware_pool3d/cuda/sums.h"

namespace mluop::roiaware_pool3d {
namespace {

// Half sums are rounded at each addition where points have so many voxels at most, on the average:
// the error is a few times that of one rounding.
constexpr int64_t kFewVoxels = 32;
// Sums beyond this many elements (576 MiB) are made for one range of points after another.
constexpr int64_t kMostSums = int64_t{1} << 26;
// Blocks that look for the greatest gradient, each leaving one value.
constexpr int64_t kMostMaxima = 1024;
constexpr int kHalfExponent = 15;  // of half's greatest number

template <typename T>
class Backward {
 public:
  Backward(const Arguments& a, CudaContext& context)
      : context_(context),
        s_{.p = MakeProblem(a, a.Symbol("P")),
           .indices = a.In<int32_t>("pts_idx_of_voxels"),
           .argmax = a.In<int32_t>("argmax"),
           .grad = a.In<T>("grad_out")},
        grad_in_(a.Out<T>("grad_in")),
        maximum_(s_.p.method == kMaximum) {}

  void Run() {
    if (!context_.atomics_allowed()) return RunFixed();
    if constexpr (std::is_same_v<T, float>) {
      if (maximum_) {
        context_.Zero(grad_in_, Bytes(s_.p.points, sizeof(T)));
      } else {
        Zero(grad_in_, Bytes(s_.p.points, sizeof(T)));
      }
      AddFloats(grad_in_, {0, s_.p.points});
    } else if (maximum_ && s_.p.voxels() <= kFewVoxels * s_.p.points && IsPaired()) {
      Zero(grad_in_, Bytes(s_.p.points, sizeof(T)));
      AddMaxima(PackedSums{grad_in_}, {0, s_.p.points});
    } else {
      RunRounded();
    }
  }

 private:
  struct Points {
    int64_t first, count;
  };

  void Zero(void* data, size_t bytes) {
    if (!IsAligned(data) || bytes % sizeof(uint4) != 0) return context_.Zero(data, bytes);
    const auto vectors = static_cast<int64_t>(bytes / sizeof(uint4));
    context_.Launch(ZeroSums, {CeilDiv(vectors, kThreads), kThreads}, static_cast<uint4*>(data),
                    vectors);
  }

  // Whether grad_in is whole pairs of halves.
  bool IsPaired() const {
    return reinterpret_cast<uintptr_t>(grad_in_) % 4 == 0 &&
           int64_t{s_.p.points} * s_.p.channels % 2 == 0;
  }
  size_t Bytes(int64_t points, size_t element) const {
    return static_cast<size_t>(points * s_.p.channels) * element;
  }
  // Calls round(points) for one range of points after another.
  template <class Round>
  void ForEachRound(int64_t size, Round round) {
    for (int64_t first = 0; first < s_.p.points; first += size) {
      round(Points{first, std::min(size, s_.p.points - first)});
    }
  }
  int64_t RoundSize() const {
    return std::clamp<int64_t>(kMostSums / s_.p.channels, 1, s_.p.points);
  }

  void Cut(int width, const Points& points) {
    s_.groups = static_cast<uint32_t>(s_.p.channels / width);
    s_.first_point = static_cast<uint32_t>(points.first);
    s_.points = static_cast<uint32_t>(points.count);
  }

  template <class Sums>
  void AddMaxima(const Sums& sums, const Points& points) {
    Cut(1, points);
    const int64_t elements = s_.p.voxels() * s_.p.channels;
    const Grid grid = {CeilDiv(elements, kThreads * kAtOnce), kThreads, 0, Sums::kEarlyMaximum};
    context_.Launch(AddMaximum<T, Sums>, grid, s_, sums, elements);
  }

  template <int V, class Sums>
  void AddAverages(const Sums& sums, const Points& points) {
    Cut(V, points);
    const auto row_bytes = static_cast<int64_t>(Bytes(1, sizeof(typename Sums::Share)));
    Tile tile = FitTile(context_, s_.p, points.count, row_bytes);
    tile.wide_slots = s_.p.slots % 4 == 0 && IsAligned(s_.indices);
    const Grid grid = {CeilDiv(s_.p.voxels(), int64_t{tile.tiles} * tile.voxels),
                       tile.pairs > 0 ? kTileThreads : kThreads,
                       static_cast<size_t>(TileBytes(tile, points.count, row_bytes)), true};
    context_.Launch(AddAverage<T, V, Sums>, grid, s_, sums, tile);
  }

  void AddFloats(float* sums, const Points& points) {
    const FloatSums to = {sums};
    if (maximum_) {
      AddMaxima(to, points);
    } else if (s_.p.channels % 4 == 0 && IsAligned(s_.grad) && IsAligned(sums)) {
      AddAverages<4>(to, points);
    } else {
      AddAverages<1>(to, points);
    }
  }

  // Half: sums in float, rounded once.
  void RunRounded() {
    const int64_t size = RoundSize();
    auto* sums = static_cast<float*>(context_.Scratch(Bytes(size, sizeof(float))));
    ForEachRound(size, [&](const Points& points) {
      Zero(sums, Bytes(points.count, sizeof(float)));
      AddFloats(sums, points);
      const int64_t count = points.count * s_.p.channels;
      context_.Launch(RoundFloats, {CeilDiv(count, kThreads), kThreads, 0, true}, sums, count,
                      reinterpret_cast<__half*>(grad_in_) + points.first * s_.p.channels);
    });
  }

  void RunFixed() {
    const int64_t size = RoundSize(), count = size * s_.p.channels;
    const size_t sum_bytes = AlignedBytes(Bytes(size, sizeof(long long)));
    const size_t mark_bytes = AlignedBytes(CeilDiv(count, FixedSums::kMarks) * sizeof(uint32_t));
    const size_t zero_bytes = sum_bytes + mark_bytes;
    char* scratch = static_cast<char*>(
        context_.Scratch(zero_bytes + kMostMaxima * sizeof(uint32_t) + sizeof(int)));
    auto* maxima = reinterpret_cast<uint32_t*>(scratch + zero_bytes);
    const int bits = std::bit_width(static_cast<uint64_t>(s_.p.voxels() - 1));
    FixedSums sums = {.sums = reinterpret_cast<unsigned long long*>(scratch),
                      .marks = reinterpret_cast<uint32_t*>(scratch + sum_bytes),
                      .maxima = maxima,
                      .blocks = 0,
                      .bits = bits,
                      .shift = FixedSums::Shift(bits, kHalfExponent),
                      .found_shift = reinterpret_cast<int*>(maxima + kMostMaxima)};
    ForEachRound(size, [&](const Points& points) {
      if constexpr (std::is_same_v<T, float>) {
        sums.blocks = LaunchPrepare(scratch, zero_bytes, maxima);
      } else {
        Zero(scratch, zero_bytes);
      }
      if (maximum_) {
        AddMaxima(sums, points);
      } else {
        AddAverages<1>(sums, points);
      }
      const int64_t elements = points.count * s_.p.channels;
      context_.Launch(RoundFixed<T>, {CeilDiv(elements, kThreads), kThreads, 0, true}, sums,
                      elements, grad_in_ + points.first * s_.p.channels);
    });
  }

  // Returns the number of blocks.
  int LaunchPrepare(char* sums, size_t bytes, uint32_t* maxima) {
    const Preparation c = {.grad = reinterpret_cast<const float*>(s_.grad),
                           .count = s_.p.voxels() * s_.p.channels,
                           .wide = IsAligned(s_.grad),
                           .sums = reinterpret_cast<uint4*>(sums),
                           .vectors = static_cast<int64_t>(bytes / sizeof(uint4)),
                           .maxima = maxima};
    constexpr int64_t kShare = kThreads * 16;  // elements of a block: four loads a thread
    const int64_t blocks = std::min(CeilDiv(std::max(c.count, c.vectors * 4), kShare), kMostMaxima);
    context_.Launch(Prepare, {blocks, kThreads}, c);
    return static_cast<int>(blocks);
  }

  CudaContext& context_;
  Scatter<T> s_;
  T* grad_in_;
  bool maximum_;
};

}  // namespace

mluOpStatus_t BackwardCuda(const Arguments& arguments, CudaContext& context) {
  if (arguments.Type() == MLUOP_DTYPE_HALF) {
    Backward<__half>(arguments, context).Run();
  } else {
    Backward<float>(arguments, context).Run();
  }
  return context.status();
}

}  // namespace mluop::roiaware_pool3d
