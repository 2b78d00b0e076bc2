// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on CUDA devices: threads walk the channels of the voxels, skip what names
// no point, and add the rest to the points' sums. Sparse scenes are bound by the bytes of argmax or
// by the sectors of the counts, dense ones by the additions.
#include <algorithm>
#include <bit>

#include "ops/roiaware_pool3d/cuda.h"
#include "ops/roiaware_pool3d/cuda_sums.h"
#include "ops/roiaware_pool3d/problem.h"

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

// An item is V channels of a voxel: item i has the elements from i*V on. There are less than 2^31
// elements in any tensor.
template <typename T>
struct Scatter {
  Problem p;
  uint32_t items = 0, groups = 0;        // of all voxels, of one voxel
  uint32_t first_point = 0, points = 0;  // of the sums
  const int32_t* indices;                // [voxels, slots]
  const int32_t* argmax;                 // [voxels, channels], or NULL
  const T* grad;                         // [voxels, channels]

  // Not below `points` where the sums have no such point.
  __device__ uint32_t Row(int32_t point) const {
    return static_cast<uint32_t>(point) - first_point;
  }
};

// Channels of one voxel, from `channel` on, to the point that each of them names.
template <typename T, int V, class Sums>
__device__ void AddNamed(const Scatter<T>& s, const Sums& sums, const int32_t (&point)[V],
                         uint32_t channel, const float (&grad)[V]) {
  const uint32_t channels = s.p.channels;
  bool same = true;
#pragma unroll
  for (int i = 1; i < V; ++i) same &= point[i] == point[0];
  if (same) {
    sums.Add(s.Row(point[0]) * channels + channel, grad);
    return;
  }
#pragma unroll
  for (int i = 0; i < V; ++i) {
    const uint32_t row = s.Row(point[i]);
    if (row < s.points) sums.Add(row * channels + channel + i, {grad[i]});
  }
}

// U items a thread, so that their loads are under way at the same time.
template <typename T, int V, int U, class Sums>
__global__ void __launch_bounds__(kThreads) AddMaximum(Scatter<T> s, Sums sums) {
  const uint32_t first = blockIdx.x * (kThreads * U) + threadIdx.x;
  int32_t point[U][V];
  bool named[U];
  float grad[U][V];
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const uint32_t item = first + u * kThreads;
#pragma unroll
    for (int i = 0; i < V; ++i) point[u][i] = -1;
    if (item < s.items) LoadIndices(s.argmax + int64_t{item} * V, point[u]);
  }
  sums.Begin();
#pragma unroll
  for (int u = 0; u < U; ++u) {
    named[u] = false;
#pragma unroll
    for (int i = 0; i < V; ++i) named[u] |= s.Row(point[u][i]) < s.points;
    if (named[u]) Load(s.grad + int64_t{first + u * kThreads} * V, grad[u]);
  }
#pragma unroll
  for (int u = 0; u < U; ++u) {
    if (!named[u]) continue;
    const uint32_t channel = (first + u * kThreads) % s.groups * V;
    AddNamed(s, sums, point[u], channel, grad[u]);
  }
}

template <typename T, int V, int U, class Sums>
__global__ void __launch_bounds__(kThreads) AddAverage(Scatter<T> s, Sums sums) {
  const uint32_t first = blockIdx.x * (kThreads * U) + threadIdx.x;
  const uint32_t channels = s.p.channels;
  int count[U];
  float grad[U][V];
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const uint32_t item = first + u * kThreads;
    count[u] = item < s.items ? s.indices[int64_t{item / s.groups} * s.p.slots] : 0;
  }
  sums.Begin();
#pragma unroll
  for (int u = 0; u < U; ++u) {
    count[u] = s.p.Stored(count[u]);
    if (count[u] > 0) Load(s.grad + int64_t{first + u * kThreads} * V, grad[u]);
  }
#pragma unroll
  for (int u = 0; u < U; ++u) {
    if (count[u] == 0) continue;
    const uint32_t item = first + u * kThreads, voxel = item / s.groups;
    const uint32_t channel = (item - voxel * s.groups) * V;
    const int32_t* points = s.indices + int64_t{voxel} * s.p.slots + 1;
#pragma unroll
    for (int i = 0; i < V; ++i) grad[u][i] /= static_cast<float>(count[u]);
#pragma unroll 4
    for (int k = 0; k < count[u]; ++k) {
      const uint32_t row = s.Row(points[k]);
      if (row < s.points) sums.Add(row * channels + channel, grad[u]);
    }
  }
}

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
        elements_(s_.p.voxels() * s_.p.channels) {
    const bool reads_argmax = s_.p.method == kMaximum;
    wide_ = s_.p.channels % kWide<T> == 0 && IsAligned(s_.grad) &&
            (!reads_argmax || IsAligned(s_.argmax));
  }

  void Run() {
    if (!context_.atomics_allowed()) return RunFixed();
    if constexpr (std::is_same_v<T, float>) {
      context_.Zero(grad_in_, Bytes(s_.p.points, sizeof(T)));
      wide_ = wide_ && IsAligned(grad_in_);
      AddFloats(grad_in_, {0, s_.p.points});
    } else if (wide_ && IsAligned(grad_in_) && s_.p.method == kMaximum &&
               s_.p.voxels() <= kFewVoxels * s_.p.points) {
      context_.Zero(grad_in_, Bytes(s_.p.points, sizeof(T)));
      Add<kWide<T>, 2>(AddMaximum<T, kWide<T>, 2, PackedSums>, PackedSums{grad_in_},
                       {0, s_.p.points});
    } else {
      RunRounded();
    }
  }

 private:
  struct Points {
    int64_t first, count;
  };

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

  template <int V, int U, class Sums>
  void Add(void (*kernel)(Scatter<T>, Sums), const Sums& sums, const Points& points) {
    s_.items = static_cast<uint32_t>(elements_ / V);
    s_.groups = static_cast<uint32_t>(s_.p.channels / V);
    s_.first_point = static_cast<uint32_t>(points.first);
    s_.points = static_cast<uint32_t>(points.count);
    context_.Launch(kernel, {CeilDiv(s_.items, kThreads * U), kThreads}, s_, sums);
  }

  void AddFloats(float* sums, const Points& points) {
    const bool maximum = s_.p.method == kMaximum;
    const FloatSums to = {sums};
    constexpr int kV = kWide<T>, kU = 16 / kV;
    if (wide_) {
      Add<kV, kU>(maximum ? AddMaximum<T, kV, kU, FloatSums> : AddAverage<T, kV, kU, FloatSums>, to,
                  points);
    } else {
      Add<1, 4>(maximum ? AddMaximum<T, 1, 4, FloatSums> : AddAverage<T, 1, 4, FloatSums>, to,
                points);
    }
  }

  // Half: sums in float, rounded once.
  void RunRounded() {
    const int64_t size = RoundSize();
    auto* sums = static_cast<float*>(context_.Scratch(Bytes(size, sizeof(float))));
    ForEachRound(size, [&](const Points& points) {
      context_.Zero(sums, Bytes(points.count, sizeof(float)));
      AddFloats(sums, points);
      const int64_t count = points.count * s_.p.channels;
      context_.Launch(RoundFloats, {CeilDiv(count, kThreads), kThreads}, sums, count,
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
        context_.Zero(scratch, zero_bytes);
      }
      Add<1, 8>(
          s_.p.method == kMaximum ? AddMaximum<T, 1, 8, FixedSums> : AddAverage<T, 1, 8, FixedSums>,
          sums, points);
      const int64_t elements = points.count * s_.p.channels;
      context_.Launch(RoundFixed<T>, {CeilDiv(elements, kThreads), kThreads}, sums, elements,
                      grad_in_ + points.first * s_.p.channels);
    });
  }

  // Returns the number of blocks.
  int LaunchPrepare(char* sums, size_t bytes, uint32_t* maxima) {
    const Preparation c = {.grad = reinterpret_cast<const float*>(s_.grad),
                           .count = elements_,
                           .wide = IsAligned(s_.grad),
                           .sums = reinterpret_cast<uint4*>(sums),
                           .vectors = static_cast<int64_t>(bytes / sizeof(uint4)),
                           .maxima = maxima};
    constexpr int64_t kShare = kThreads * 16;  // elements of a block: four loads a thread
    const int64_t blocks =
        std::min(CeilDiv(std::max(elements_, c.vectors * 4), kShare), kMostMaxima);
    context_.Launch(Prepare, {blocks, kThreads}, c);
    return static_cast<int>(blocks);
  }

  CudaContext& context_;
  Scatter<T> s_;
  T* grad_in_;
  int64_t elements_;
  bool wide_;
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
