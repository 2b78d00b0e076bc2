// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices: what one lane does with the samples of an edge.
#pragma once

#include "cuda/words.h"
#include "ops/border_align/cuda/kernels.h"

namespace mluop::border_align {

// kCount channels as they lie in memory, aligned to their size.
template <typename T, int kCount>
union Channels {
  __device__ Channels() {}

  typename Word<kCount * sizeof(T)>::Type packed;
  T element[kCount];
};

template <typename T, int kCount>
__device__ Channels<T, kCount> LoadChannels(const T* from) {
  using Packed = typename Word<kCount * sizeof(T)>::Type;
  Channels<T, kCount> channels;
  channels.packed = __ldg(reinterpret_cast<const Packed*>(from));
  return channels;
}

// Nothing of this call reads them: they should not displace what is read.
template <typename T, int kCount>
__device__ void StreamChannels(const Channels<T, kCount>& channels, T* to) {
  using Packed = typename Word<kCount * sizeof(T)>::Type;
  __stcs(reinterpret_cast<Packed*>(to), channels.packed);
}

// A sample along its edge. A pixel with an even coordinate has one place in a lane's registers, one
// with an odd coordinate the other: both pixels of a sample fit, and on the way to the next pixel,
// in either direction, one stays where it is. One word of 16 bytes, so that one instruction loads it.
struct Sample {
  int4 word;

  // Offsets of its two pixels, in elements or, in shared memory, bytes; even < 0: the sample is outside.
  __device__ int even() const { return word.x; }
  __device__ int odd() const { return word.y; }
  __device__ float even_weight() const { return __int_as_float(word.z); }
  __device__ float odd_weight() const { return __int_as_float(word.w); }
};

// The compiler would load the weights apart, after it has looked at the offsets.
__device__ inline Sample LoadSample(const Sample& from) {
  int4 word = from.word;
  asm("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
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

// Where an edge lies: offsets of the two lines' first pixels, of its results, and of its group's first
// channel in all of them.
struct EdgeLines {
  int low, high;
  float low_weight, high_weight;
  int result, channel;
  bool inside;  // all its samples
};

// A lane's channels on the two lines of an edge, in global memory.
template <typename T, int kVector>
struct GlobalLines {
  // Half leaves the first cache time to spare: loads of two samples on their way together are worth more
  // than loads saved (0.98 of the time).
  static constexpr bool kKeep = sizeof(T) > 2;

  const T *low, *high;

  __device__ GlobalLines(const T* low_line, const T* high_line) : low(low_line), high(high_line) {
    // Or the compiler adds a sample's offset to what these are made of: five instructions, not one.
    asm("" : "+l"(low), "+l"(high));
  }

  // Loads a pixel of both lines, unless it is the one that is there. Without a branch, and for that into
  // registers that it may leave as they are.
  __device__ void Load(int offset, int there, Channels<T, kVector>& a,
                       Channels<T, kVector>& b) const {
    if constexpr (kVector * sizeof(T) == 16) {
      uint4 &x = a.packed, &y = b.packed;
      asm volatile(
          "{.reg .pred needed;\n"
          "setp.ne.s32 needed, %8, %9;\n"
          "@needed ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%10];\n"
          "@needed ld.global.nc.v4.b32 {%4, %5, %6, %7}, [%11];\n}"
          : "+r"(x.x), "+r"(x.y), "+r"(x.z), "+r"(x.w), "+r"(y.x), "+r"(y.y), "+r"(y.z), "+r"(y.w)
          : "r"(offset), "r"(there), "l"(low + offset), "l"(high + offset));
    } else if (offset != there) {
      Load(offset, a, b);
    }
  }

  __device__ void Load(int offset, Channels<T, kVector>& a, Channels<T, kVector>& b) const {
    a = LoadChannels<T, kVector>(low + offset);
    b = LoadChannels<T, kVector>(high + offset);
  }
};

// The same in shared memory, offsets and addresses in bytes.
template <typename T>
struct SharedLines {
  static constexpr bool kKeep = true;
  static constexpr int kVector = 16 / sizeof(T);
  uint32_t low, high;

  __device__ void Load(int offset, int there, Channels<T, kVector>& a,
                       Channels<T, kVector>& b) const {
    uint4 &x = a.packed, &y = b.packed;
    asm volatile(
        "{.reg .pred needed;\n"
        "setp.ne.s32 needed, %8, %9;\n"
        "@needed ld.shared.v4.b32 {%0, %1, %2, %3}, [%10];\n"
        "@needed ld.shared.v4.b32 {%4, %5, %6, %7}, [%11];\n}"
        : "+r"(x.x), "+r"(x.y), "+r"(x.z), "+r"(x.w), "+r"(y.x), "+r"(y.y), "+r"(y.z), "+r"(y.w)
        : "r"(offset), "r"(there), "r"(low + offset), "r"(high + offset));
  }
};

// Maxima of a lane's channels.
template <typename T, int kVector, class Lines>
class Pool {
 public:
  __device__ Pool(const Lines& lines, float low_weight, float high_weight)
      : lines_(lines), low_weight_(low_weight), high_weight_(high_weight) {
    kept_.even_low.packed = kept_.even_high.packed = {};
    kept_.odd_low.packed = kept_.odd_high.packed = {};
  }

  // Adds the samples of a table, of which the first is sample `begin` of the edge. kInside: all are.
  template <bool kInside>
  __device__ void AddSamples(const Sample* table, int count, int begin) {
    int i = 0;
    if (begin == 0) {
      const Sample sample = LoadSample(table[0]);
      Fetch<kInside>(sample, kept_);
      Interpolate<kInside>(sample, kept_, best_);
#pragma unroll
      for (int v = 0; v < kVector; ++v) first_[v] = best_[v];
      i = 1;
    }
#pragma unroll 1
    for (; i + 1 < count; i += 2) AddTwo<kInside>(table + i, begin + i);
    if (i < count) AddOne<kInside>(table[i], begin + i);
  }

  __device__ void Store(T* output, int32_t* argmax) const {
    constexpr int kIndices = kVector < 4 ? kVector : 4;
    Channels<T, kVector> maxima;
#pragma unroll
    for (int v = 0; v < kVector; ++v) Assign(best_[v], maxima.element[v]);
    StreamChannels(maxima, output);
#pragma unroll
    for (int begin = 0; begin < kVector; begin += kIndices) {
      Channels<int32_t, kIndices> indices;
#pragma unroll
      for (int v = 0; v < kIndices; ++v) indices.element[v] = Index(begin + v);
      StreamChannels(indices, argmax + begin);
    }
  }

 private:
  // The pixels of a sample on both lines.
  struct Pixels {
    Channels<T, kVector> even_low, even_high, odd_low, odd_high;
  };

  // Where pixels are kept, those that the sample before had are there.
  template <bool kInside>
  __device__ void Fetch(const Sample& s, Pixels& pixels) {
    const int even = kInside ? s.even() : max(s.even(), 0);
    const int odd = kInside ? s.odd() : max(s.odd(), 0);
    if constexpr (Lines::kKeep) {
      lines_.Load(even, at_even_, pixels.even_low, pixels.even_high);
      lines_.Load(odd, at_odd_, pixels.odd_low, pixels.odd_high);
      at_even_ = even;
      at_odd_ = odd;
    } else {
      lines_.Load(even, pixels.even_low, pixels.even_high);
      lines_.Load(odd, pixels.odd_low, pixels.odd_high);
    }
  }

  template <bool kInside>
  __device__ void Interpolate(const Sample& s, const Pixels& pixels,
                              float (&value)[kVector]) const {
    const float even_low = s.even_weight() * low_weight_,
                even_high = s.even_weight() * high_weight_;
    const float odd_low = s.odd_weight() * low_weight_, odd_high = s.odd_weight() * high_weight_;
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      value[v] = even_low * AsFloat(pixels.even_low.element[v]);
      value[v] = fmaf(even_high, AsFloat(pixels.even_high.element[v]), value[v]);
      value[v] = fmaf(odd_low, AsFloat(pixels.odd_low.element[v]), value[v]);
      value[v] = fmaf(odd_high, AsFloat(pixels.odd_high.element[v]), value[v]);
      if (!kInside && s.even() < 0) value[v] = 0;
    }
  }

  template <bool kInside>
  __device__ void AddOne(const Sample& from, int index) {
    const Sample sample = LoadSample(from);
    float value[kVector];
    Fetch<kInside>(sample, kept_);
    Interpolate<kInside>(sample, kept_, value);
#pragma unroll
    for (int v = 0; v < kVector; ++v) Replace(v, value[v], value[v], index);
  }

  // Two samples compete first with each other: five instructions for both, not six. Which of them it
  // was is told apart at the end.
  template <bool kInside>
  __device__ void AddTwo(const Sample* samples, int index) {
    const Sample sample = LoadSample(samples[0]), second = LoadSample(samples[1]);
    float value[kVector], next[kVector];
    if constexpr (Lines::kKeep) {
      Fetch<kInside>(sample, kept_);
      Interpolate<kInside>(sample, kept_, value);
      Fetch<kInside>(second, kept_);
      Interpolate<kInside>(second, kept_, next);
    } else {
      Pixels pixels, pixels_of_second;
      Fetch<kInside>(sample, pixels);
      Fetch<kInside>(second, pixels_of_second);
      Interpolate<kInside>(sample, pixels, value);
      Interpolate<kInside>(second, pixels_of_second, next);
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) Replace(v, fmaxf(value[v], next[v]), value[v], index);
  }

  __device__ void Replace(int v, float value, float first, int index) {
    const bool more = value > best_[v];
    best_[v] = more ? value : best_[v];
    first_[v] = more ? first : first_[v];
    index_[v] = more ? index : index_[v];
  }

  // A maximum that is NaN is sample 0; a first sample of two that is NaN lost.
  __device__ int Index(int v) const {
    return index_[v] + (first_[v] != best_[v] && best_[v] == best_[v] ? 1 : 0);
  }

  static __device__ void Assign(float value, float& element) { element = value; }
  static __device__ void Assign(float value, __half& element) { element = __float2half_rn(value); }

  const Lines lines_;
  float low_weight_, high_weight_;
  Pixels kept_;
  int at_even_ = -1, at_odd_ = -1;  // which they are
  float best_[kVector] = {};
  float first_[kVector] = {};    // of the two samples that the maximum is one of
  int32_t index_[kVector] = {};  // of that sample
};

}  // namespace mluop::border_align
