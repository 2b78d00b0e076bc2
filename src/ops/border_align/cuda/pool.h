// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices: per-lane interpolation and maximum over the samples of an
// edge.
#pragma once

#include "cuda/ptx.h"
#include "ops/border_align/cuda/kernels.h"

namespace mluop::border_align {

template <typename T>
struct ForwardTensors {
  Problem p;
  const T* input;   // [N, H, W, 4*C]
  const T* boxes;   // [N, K, 4]
  T* output;        // [N, K, 4, C]
  int32_t* argmax;  // [N, K, 4, C]

  explicit ForwardTensors(const CudaCall<Problem>& call)
      : p(call.p),
        input(call.arguments.In<T>("input")),
        boxes(call.arguments.In<T>("boxes")),
        output(call.arguments.Out<T>("output")),
        argmax(call.arguments.Out<int32_t>("argmax_idx")) {}
};

// Channels of a lane: 16 bytes.
template <typename T>
inline constexpr int kVector = 16 / sizeof(T);

// Returns whether the channels of every lane are aligned to 16 bytes in all tensors, and 32-bit
// offsets are enough.
inline bool CanVectorize(const CudaCall<Problem>& call) {
  const Arguments& a = call.arguments;
  return IsSmall(call) && call.p.c % (IsHalf(call) ? 8 : 4) == 0 &&
         IsAligned(a.In<void>("input")) && IsAligned(a.Out<void>("output")) &&
         IsAligned(a.Out<void>("argmax_idx"));
}

// 16 bytes of channels as they lie in memory.
template <typename T>
union Channels {
  __device__ Channels() {}

  uint4 packed;
  T element[kVector<T>];
};

// Turns -0 into +0: which zero is the maximum depends on how the samples are compared.
template <typename Real>
__device__ Real PositiveZero(Real value) {
  return value + Real{0};
}

// A sample along its edge. Pixels with even and odd coordinates have separate registers in a lane.
// The two pixels of a sample use different registers, and a step by one pixel reloads only one of
// them.
struct alignas(16) Sample {
  int even, odd;  // offsets in elements or, in shared memory, bytes; even < 0: outside
  float even_weight, odd_weight;
};

// Loads a sample by one instruction: the compiler otherwise loads the weights after it has tested
// the offsets.
__device__ inline Sample LoadSample(const Sample& from) {
  Sample s = from;
  KeepInRegisters(s.even, s.odd, s.even_weight, s.odd_weight);
  return s;
}

__device__ inline Sample MakeSample(const Neighbours& at, int stride) {
  if (!at.inside) return {-1, -1, 0, 0};
  const int low = at.low * stride, high = at.high * stride;
  if (at.low % 2 == 0) return {low, high, at.low_weight, at.high_weight};
  return {high, low, at.high_weight, at.low_weight};
}

// The position of an edge: offsets of the first pixels of its two lines, and of its results.
struct EdgeLines {
  int low, high;
  float low_weight, high_weight;
  int result;
};

// An edge of a box whose samples are computed. `origin`: the offset of pixel (0, 0).
struct BoxEdge {
  int box, border, origin;
  Axes axes;
};

// Computes every kStride-th sample of an edge, from `first` on, and with the first one the edge's
// lines. Returns whether all of them are inside the map.
template <int kStride, typename T>
__device__ bool FindSamples(const ForwardTensors<T>& t, const BoxEdge& of, int first,
                            EdgeLines* lines, Sample* table) {
  const Edge edge = MakeEdge(LoadBox(t.boxes, of.box), of.border, t.p.pool_size);
  const Neighbours line = FindNeighbours(edge.fixed, of.axes.fixed_size);
  if (first == 0) {
    *lines = {of.origin + line.low * of.axes.fixed_stride,
              of.origin + line.high * of.axes.fixed_stride, line.low_weight, line.high_weight,
              (of.box * kBorders + of.border) * t.p.c};
  }
  bool all_inside = true;
  Walk<kStride>(edge, first).Next(static_cast<int>(t.p.samples()), [&](int i, float position) {
    Neighbours at = FindNeighbours(position, of.axes.moving_size);
    at.inside = at.inside && line.inside;
    all_inside = all_inside && at.inside;
    table[i] = MakeSample(at, of.axes.moving_stride);
  });
  return all_inside;
}

// A lane's channels on the two lines of an edge, in global memory. Load reads a pixel of both
// lines, unless it is already in the registers.
template <typename T>
struct GlobalLines {
  const T *low, *high;

  __device__ GlobalLines(const T* low_line, const T* high_line) : low(low_line), high(high_line) {
    // Without this the compiler recomputes the addresses per sample (five instructions instead of
    // one).
    KeepInRegisters(low, high);
  }

  __device__ void Load(int offset, int loaded_offset, uint4& x, uint4& y) const {
    LoadGlobalIf(offset, loaded_offset, low + offset, high + offset, x, y);
  }
};

// The same in shared memory, offsets and addresses in bytes.
struct SharedLines {
  uint32_t low, high;

  __device__ void Load(int offset, int loaded_offset, uint4& x, uint4& y) const {
    LoadSharedIf(offset, loaded_offset, low + offset, high + offset, x, y);
  }
};

// Maxima of a lane's channels.
template <typename T, class Lines>
class Pool {
  static constexpr int kChannels = kVector<T>;

 public:
  __device__ Pool(const Lines& lines, const EdgeLines& edge)
      : lines_(lines), low_weight_(edge.low_weight), high_weight_(edge.high_weight) {
    even_low_.packed = even_high_.packed = odd_low_.packed = odd_high_.packed = {};
  }

  // Adds all samples of the edge. `inside`: all samples are inside the map.
  __device__ void AddSamples(bool inside, const Sample* table, int count) {
    inside ? AddSamplesTyped<true>(table, count) : AddSamplesTyped<false>(table, count);
  }

  __device__ void Store(T* output, int32_t* argmax) const {
    float maxima[kChannels];
    int32_t indices[kChannels];
#pragma unroll
    for (int v = 0; v < kChannels; ++v) {
      maxima[v] = PositiveZero(best_[v]);
      indices[v] = Index(v);
    }
    StoreElements(output, maxima);
    StoreElements(argmax, indices);
  }

 private:
  template <bool kInside>
  __device__ void AddSamplesTyped(const Sample* table, int count) {
    Interpolate<kInside>(LoadSample(table[0]), best_);
#pragma unroll
    for (int v = 0; v < kChannels; ++v) pair_first_[v] = best_[v];
    float value[kChannels], next[kChannels];
    int i = 1;
#pragma unroll 1
    for (; i + 1 < count; i += 2) {
      // Takes the maximum of two samples first: five instructions for both instead of six. Index()
      // distinguishes them.
      const Sample sample = LoadSample(table[i]), second = LoadSample(table[i + 1]);
      Interpolate<kInside>(sample, value);
      Interpolate<kInside>(second, next);
#pragma unroll
      for (int v = 0; v < kChannels; ++v) UpdateArgmax(v, fmaxf(value[v], next[v]), value[v], i);
    }
    if (i < count) {
      Interpolate<kInside>(LoadSample(table[i]), value);
#pragma unroll
      for (int v = 0; v < kChannels; ++v) UpdateArgmax(v, value[v], value[v], i);
    }
  }

  // A sample's value, in the same order of operations in every implementation. Pixels that the
  // sample before had are not loaded again.
  template <bool kInside>
  __device__ void Interpolate(const Sample& s, float (&value)[kChannels]) {
    const int even = kInside ? s.even : max(s.even, 0);
    const int odd = kInside ? s.odd : max(s.odd, 0);
    lines_.Load(even, at_even_, even_low_.packed, even_high_.packed);
    lines_.Load(odd, at_odd_, odd_low_.packed, odd_high_.packed);
    at_even_ = even;
    at_odd_ = odd;
    const float even_low = s.even_weight * low_weight_, even_high = s.even_weight * high_weight_;
    const float odd_low = s.odd_weight * low_weight_, odd_high = s.odd_weight * high_weight_;
#pragma unroll
    for (int v = 0; v < kChannels; ++v) {
      value[v] = even_low * AsReal(even_low_.element[v]);
      value[v] = fmaf(even_high, AsReal(even_high_.element[v]), value[v]);
      value[v] = fmaf(odd_low, AsReal(odd_low_.element[v]), value[v]);
      value[v] = fmaf(odd_high, AsReal(odd_high_.element[v]), value[v]);
      if (!kInside && s.even < 0) value[v] = 0;
    }
  }

  __device__ void UpdateArgmax(int v, float value, float first, int index) {
    const bool greater = value > best_[v];
    best_[v] = greater ? value : best_[v];
    pair_first_[v] = greater ? first : pair_first_[v];
    index_[v] = greater ? index : index_[v];
  }

  // A maximum that is NaN is sample 0; if the first sample of two is NaN, the second won.
  __device__ int Index(int v) const {
    return index_[v] + (pair_first_[v] != best_[v] && best_[v] == best_[v] ? 1 : 0);
  }

  const Lines lines_;
  float low_weight_, high_weight_;
  Channels<T> even_low_, even_high_, odd_low_, odd_high_;
  int at_even_ = -1, at_odd_ = -1;  // their offsets
  float best_[kChannels] = {};
  float pair_first_[kChannels] = {};  // value of the first sample of the winning pair
  int32_t index_[kChannels] = {};     // of that pair
};

}  // namespace mluop::border_align
