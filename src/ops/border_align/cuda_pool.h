// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices: what one lane does with the samples of an edge.
#pragma once

#include "core/cuda/words.h"
#include "ops/border_align/cuda.h"

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

  // Offsets of its two pixels, in elements; even < 0: the sample is outside.
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

// How the samples of an edge lie: less than a pixel apart, further apart, or some of them outside.
enum class Spacing { kNear, kApart, kAny };

// Where an edge lies: offsets of the two lines' first pixels, of its results, and of its group's first
// channel in all of them.
struct EdgeLines {
  int low, high;
  float low_weight, high_weight;
  int result, channel;
  Spacing spacing;
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

  // Goes to a sample's two pixels along the edge; keeps what the last one had.
  __device__ void Move(const Sample& s) {
    if (s.even() != at_even_) LoadBlended(s.even(), even_);
    if (s.odd() != at_odd_) LoadBlended(s.odd(), odd_);
    at_even_ = s.even();
    at_odd_ = s.odd();
  }

  __device__ void Add(const Sample& s, int index) {
    float value[kVector] = {};
    if (s.even() >= 0) {
      Move(s);
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        value[v] = fmaf(s.odd_weight(), odd_[v], s.even_weight() * even_[v]);
      }
    }
    Compare(value, index);
  }

  // The same for a sample inside that is less than a pixel away from where the lane is: at most one of
  // its two pixels is new, and if none is, one is loaded again.
  __device__ void AddNear(const Sample& s, int index) {
    const bool odd = s.odd() != at_odd_;
    Column column;
    Load(odd ? s.odd() : s.even(), column);
    float value[kVector];
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      const float blend = Blend(column, v);
      even_[v] = odd ? even_[v] : blend;
      odd_[v] = odd ? blend : odd_[v];
      value[v] = fmaf(s.odd_weight(), odd_[v], s.even_weight() * even_[v]);
    }
    at_even_ = s.even();
    at_odd_ = s.odd();
    Compare(value, index);
  }

  // The same for a sample inside that has no pixel in common with the one before.
  __device__ void AddApart(const Sample& s, int index) {
    Column even, odd;
    Load(s.even(), even);
    Load(s.odd(), odd);
    const float even_low = s.even_weight() * low_weight_,
                even_high = s.even_weight() * high_weight_;
    const float odd_low = s.odd_weight() * low_weight_, odd_high = s.odd_weight() * high_weight_;
    float value[kVector];
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      value[v] = even_low * AsFloat(even.low.element[v]);
      value[v] = fmaf(even_high, AsFloat(even.high.element[v]), value[v]);
      value[v] = fmaf(odd_low, AsFloat(odd.low.element[v]), value[v]);
      value[v] = fmaf(odd_high, AsFloat(odd.high.element[v]), value[v]);
    }
    Compare(value, index);
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
  __device__ void Compare(const float (&value)[kVector], int index) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      const bool more = value[v] > best_[v] || index == 0;
      best_[v] = more ? value[v] : best_[v];
      index_[v] = more ? index : index_[v];
    }
  }

  static __device__ void Assign(float value, float& element) { element = value; }
  static __device__ void Assign(float value, __half& element) { element = __float2half_rn(value); }

  // A pixel along the edge on both lines.
  struct Column {
    Channels<T, kVector> low, high;
  };

  __device__ void Load(int offset, Column& column) const {
    column.low = LoadChannels<T, kVector>(low_ + offset);
    column.high = LoadChannels<T, kVector>(high_ + offset);
  }

  __device__ void LoadBlended(int offset, float (&blend)[kVector]) const {
    Column column;
    Load(offset, column);
#pragma unroll
    for (int v = 0; v < kVector; ++v) blend[v] = Blend(column, v);
  }

  // Between the two lines.
  __device__ float Blend(const Column& column, int v) const {
    return fmaf(high_weight_, AsFloat(column.high.element[v]),
                low_weight_ * AsFloat(column.low.element[v]));
  }

  const T *low_, *high_;
  float low_weight_, high_weight_;
  int at_even_ = -1, at_odd_ = -1;  // where even_ and odd_ lie along the edge
  float even_[kVector], odd_[kVector];
  float best_[kVector] = {};
  int32_t index_[kVector] = {};
};

}  // namespace mluop::border_align
