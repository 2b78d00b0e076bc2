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
// them. One word of 16 bytes, so that one instruction loads it.
struct Sample {
  int4 word;

  // Offsets of its two pixels, in elements or, in shared memory, bytes; even < 0: the sample is
  // outside.
  __device__ int even() const { return word.x; }
  __device__ int odd() const { return word.y; }
  __device__ float even_weight() const { return __int_as_float(word.z); }
  __device__ float odd_weight() const { return __int_as_float(word.w); }
};

// In registers, because the compiler otherwise loads the weights after it has tested the offsets.
__device__ inline Sample LoadSample(const Sample& from) {
  int4 word = from.word;
  KeepInRegisters(word);
  return {word};
}

__device__ inline Sample MakeSample(const Neighbours& at, int stride) {
  const int low = at.low * stride, high = at.high * stride;
  const int low_weight = __float_as_int(at.low_weight),
            high_weight = __float_as_int(at.high_weight);
  if (!at.inside) return {{-1, -1, 0, 0}};
  if (at.low % 2 == 0) return {{low, high, low_weight, high_weight}};
  return {{high, low, high_weight, low_weight}};
}

// The position of an edge: offsets of the first pixels of its two lines, and of its results.
struct EdgeLines {
  int low, high;
  float low_weight, high_weight;
  int result;
};

// Offsets from that of pixel (0, 0). `at`: the edge's place on the fixed axis.
__device__ inline EdgeLines MakeLines(const Neighbours& at, int stride, int pixels, int result) {
  return {pixels + at.low * stride, pixels + at.high * stride, at.low_weight, at.high_weight,
          result};
}

// Fills the lane's samples of an edge: every kStride-th, from `first` on. Returns whether all
// of them are inside. `fixed`: whether the edge is inside on the fixed axis.
template <int kStride>
__device__ bool FillSamples(const Edge& edge, const Axes& axes, bool fixed, int first, int count,
                            Sample* table) {
  bool all_inside = true;
  Walk<kStride>(edge, first).Next(count, [&](int i, float position) {
    Neighbours at = FindNeighbours(position, axes.moving_size);
    at.inside = at.inside && fixed;
    all_inside = all_inside && at.inside;
    table[i] = MakeSample(at, axes.moving_stride);
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
    const int even = kInside ? s.even() : max(s.even(), 0);
    const int odd = kInside ? s.odd() : max(s.odd(), 0);
    lines_.Load(even, at_even_, even_low_.packed, even_high_.packed);
    lines_.Load(odd, at_odd_, odd_low_.packed, odd_high_.packed);
    at_even_ = even;
    at_odd_ = odd;
    const float even_low = s.even_weight() * low_weight_,
                even_high = s.even_weight() * high_weight_;
    const float odd_low = s.odd_weight() * low_weight_, odd_high = s.odd_weight() * high_weight_;
#pragma unroll
    for (int v = 0; v < kChannels; ++v) {
      value[v] = even_low * AsReal(even_low_.element[v]);
      value[v] = fmaf(even_high, AsReal(even_high_.element[v]), value[v]);
      value[v] = fmaf(odd_low, AsReal(odd_low_.element[v]), value[v]);
      value[v] = fmaf(odd_high, AsReal(odd_high_.element[v]), value[v]);
      if (!kInside && s.even() < 0) value[v] = 0;
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
