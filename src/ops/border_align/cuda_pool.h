// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices: what one lane does with the samples of an edge.
#pragma once

#include "ops/border_align/cuda.h"

namespace mluop::border_align {

template <int kBytes>
struct PackedBytes;
template <>
struct PackedBytes<2> {
  using Type = unsigned short;
};
template <>
struct PackedBytes<4> {
  using Type = unsigned;
};
template <>
struct PackedBytes<8> {
  using Type = uint2;
};
template <>
struct PackedBytes<16> {
  using Type = uint4;
};

// kCount channels as they lie in memory, aligned to their size.
template <typename T, int kCount>
union Channels {
  __device__ Channels() {}

  typename PackedBytes<kCount * sizeof(T)>::Type packed;
  T element[kCount];
};

template <typename T, int kCount>
__device__ Channels<T, kCount> LoadChannels(const T* from) {
  using Packed = typename PackedBytes<kCount * sizeof(T)>::Type;
  Channels<T, kCount> channels;
  channels.packed = __ldg(reinterpret_cast<const Packed*>(from));
  return channels;
}

// Nothing of this call reads them: they should not displace what is read.
template <typename T, int kCount>
__device__ void StreamChannels(const Channels<T, kCount>& channels, T* to) {
  using Packed = typename PackedBytes<kCount * sizeof(T)>::Type;
  __stcs(reinterpret_cast<Packed*>(to), channels.packed);
}

// A sample along its edge. One word of 16 bytes, so that one instruction loads it.
struct Sample {
  int4 word;

  // Offsets of its two pixels, in elements; low < 0: the sample is outside.
  __device__ int low() const { return word.x; }
  __device__ int high() const { return word.y; }
  __device__ float low_weight() const { return __int_as_float(word.z); }
  __device__ float high_weight() const { return __int_as_float(word.w); }
};

// The compiler would load the weights apart, after it has looked at the offsets.
__device__ inline Sample LoadSample(const Sample& from) {
  int4 word = from.word;
  asm("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
  return {word};
}

__device__ inline Sample MakeSample(const Neighbours& at, int stride) {
  return {{at.inside ? at.low * stride : -1, at.high * stride, __float_as_int(at.low_weight),
           __float_as_int(at.high_weight)}};
}

// Where an edge lies: offsets of the two lines' first pixels, of its results, and of its group's first
// channel in all of them.
struct EdgeLines {
  int low, high;
  float low_weight, high_weight;
  int result, channel;
};

// Maxima of a lane's channels.
template <typename T, int kVector>
class Pool {
 public:
  // low, high: the lane's first channel on the two lines.
  __device__ Pool(const T* low, const T* high, const EdgeLines& lines)
      : low_(low), high_(high), low_weight_(lines.low_weight), high_weight_(lines.high_weight) {
    // Or the compiler adds a sample's offset to what these are made of: five instructions, not one.
    asm("" : "+l"(low_), "+l"(high_));
  }

  __device__ void Add(const Sample& s, int index) {
    float value[kVector] = {};
    if (s.low() >= 0) {
      Move(s);
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        value[v] = fmaf(s.high_weight(), above_[v], s.low_weight() * below_[v]);
      }
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      const bool more = value[v] > best_[v] || index == 0;
      best_[v] = more ? value[v] : best_[v];
      index_[v] = more ? index : index_[v];
    }
  }

  __device__ void Store(T* output, int32_t* argmax) const {
    constexpr int kIndices = kVector < 4 ? kVector : 4;
    Channels<T, kVector> maxima;
#pragma unroll
    for (int v = 0; v < kVector; ++v) Assign(best_[v], maxima.element[v]);
    StreamChannels(maxima, output);
#pragma unroll
    for (int first = 0; first < kVector; first += kIndices) {
      Channels<int32_t, kIndices> indices;
#pragma unroll
      for (int v = 0; v < kIndices; ++v) indices.element[v] = index_[first + v];
      StreamChannels(indices, argmax + first);
    }
  }

 private:
  static __device__ void Assign(float value, float& element) { element = value; }
  static __device__ void Assign(float value, __half& element) { element = __float2half_rn(value); }

  // Goes to a sample's two pixels along the edge. Samples are often nearer than pixels: what the last
  // one had is kept. The same for all lanes.
  __device__ void Move(const Sample& s) {
    if (s.low() == at_low_) return;
    if (s.low() == at_high_) {
      Copy(above_, below_);
      Blend(s.high(), above_);
    } else if (s.high() == at_low_) {
      Copy(below_, above_);
      Blend(s.low(), below_);
    } else {
      Blend(s.low(), below_);
      Blend(s.high(), above_);
    }
    at_low_ = s.low();
    at_high_ = s.high();
  }

  static __device__ void Copy(const float (&from)[kVector], float (&to)[kVector]) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) to[v] = from[v];
  }

  // A pixel along the edge: between the two lines.
  __device__ void Blend(int offset, float (&column)[kVector]) const {
    const Channels<T, kVector> low = LoadChannels<T, kVector>(low_ + offset);
    const Channels<T, kVector> high = LoadChannels<T, kVector>(high_ + offset);
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      column[v] =
          fmaf(high_weight_, AsFloat(high.element[v]), low_weight_ * AsFloat(low.element[v]));
    }
  }

  const T *low_, *high_;
  float low_weight_, high_weight_;
  int at_low_ = -1, at_high_ = -1;  // where below_ and above_ lie along the edge
  float below_[kVector], above_[kVector];
  float best_[kVector] = {};
  int32_t index_[kVector] = {};
};

}  // namespace mluop::border_align
