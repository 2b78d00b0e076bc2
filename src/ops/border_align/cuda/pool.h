// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices: what one lane does with the samples of an edge.
#pragma once

#include "cuda/words.h"
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

// Whether 16 bytes of channels lie aligned in all tensors, and more than half of `lanes` have some.
inline bool CanVectorize(const CudaCall<Problem>& call, int lanes) {
  const Arguments& a = call.arguments;
  const int vector = IsHalf(call) ? 8 : 4;
  return call.p.c % vector == 0 && call.p.c > vector * lanes / 2 &&
         IsAligned(a.In<void>("input")) && IsAligned(a.Out<void>("output")) &&
         IsAligned(a.Out<void>("argmax_idx"));
}

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

// Streaming stores: the call does not read results again, so they should not evict its inputs.
template <typename T, int kCount>
__device__ void StreamChannels(const Channels<T, kCount>& channels, T* to) {
  using Packed = typename Word<kCount * sizeof(T)>::Type;
  __stcs(reinterpret_cast<Packed*>(to), channels.packed);
}

// A sample along its edge. Pixels with even and odd coordinates have separate registers in a lane:
// both pixels of a sample fit, and on the way to the next pixel, in either direction, one stays in
// place. One word of 16 bytes, so that one instruction loads it.
struct Sample {
  int4 word;

  // Offsets of its two pixels, in elements or, in shared memory, bytes; even < 0: the sample is
  // outside.
  __device__ int even() const { return word.x; }
  __device__ int odd() const { return word.y; }
  __device__ float even_weight() const { return __int_as_float(word.z); }
  __device__ float odd_weight() const { return __int_as_float(word.w); }
};

// Without the asm the compiler loads the weights separately, after it has tested the offsets.
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

// Where an edge lies: offsets of the first pixels of its two lines, and of its results.
struct EdgeLines {
  int low, high;
  float low_weight, high_weight;
  int result;
};

// A lane's part in computing the samples of an edge: every kStride-th, from `first` on.
template <int kStride>
class EdgeWalk {
 public:
  __device__ EdgeWalk(const Edge& edge, const Axes& axes, int first)
      : walk_(edge, first), at_(FindNeighbours(edge.fixed, axes.fixed_size)), axes_(axes) {}

  // Fills the lane's share of the next `count` samples; returns whether all of them are inside.
  __device__ bool Fill(int count, Sample* table) {
    bool all_inside = true;
    walk_.Next(count, [&](int i, float position) {
      Neighbours at = FindNeighbours(position, axes_.moving_size);
      at.inside = at.inside && at_.inside;
      all_inside = all_inside && at.inside;
      table[i] = MakeSample(at, axes_.moving_stride);
    });
    return all_inside;
  }

  // Offsets from that of pixel (0, 0).
  __device__ EdgeLines Lines(int pixels, int result) const {
    return {pixels + at_.low * axes_.fixed_stride, pixels + at_.high * axes_.fixed_stride,
            at_.low_weight, at_.high_weight, result};
  }

 private:
  Walk<kStride> walk_;
  const Neighbours at_;
  const Axes axes_;
};

// A lane's channels on the two lines of an edge, in global memory. Load reads a pixel of both
// lines, unless it is the one that is there.
template <typename T, int kVector>
struct GlobalLines {
  const T *low, *high;

  __device__ GlobalLines(const T* low_line, const T* high_line) : low(low_line), high(high_line) {
    // Without the asm the compiler adds a sample's offset to the parts of these: five instructions
    // instead of one.
    asm("" : "+l"(low), "+l"(high));
  }

  // Branch-free, and therefore into registers that it may leave as they are.
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
      a = LoadChannels<T, kVector>(low + offset);
      b = LoadChannels<T, kVector>(high + offset);
    }
  }
};

// The same in shared memory, offsets and addresses in bytes.
template <typename T, int kVector>
struct SharedLines {
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
  __device__ Pool(const Lines& lines, const EdgeLines& edge)
      : lines_(lines), low_weight_(edge.low_weight), high_weight_(edge.high_weight) {
    even_low_.packed = even_high_.packed = odd_low_.packed = odd_high_.packed = {};
  }

  // Adds the samples of a table, of which the first is sample `begin` of the edge. `inside`: all
  // are.
  __device__ void AddSamples(bool inside, const Sample* table, int count, int begin) {
    inside ? AddSamplesOf<true>(table, count, begin) : AddSamplesOf<false>(table, count, begin);
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
  template <bool kInside>
  __device__ void AddSamplesOf(const Sample* table, int count, int begin) {
    int i = 0;
    if (begin == 0) {
      Interpolate<kInside>(LoadSample(table[0]), best_);
#pragma unroll
      for (int v = 0; v < kVector; ++v) first_[v] = best_[v];
      i = 1;
    }
    float value[kVector], next[kVector];
#pragma unroll 1
    for (; i + 1 < count; i += 2) {
      // Two samples compete first with each other: five instructions for both instead of six.
      // Index() tells them apart.
      const Sample sample = LoadSample(table[i]), second = LoadSample(table[i + 1]);
      Interpolate<kInside>(sample, value);
      Interpolate<kInside>(second, next);
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        Replace(v, fmaxf(value[v], next[v]), value[v], begin + i);
      }
    }
    if (i < count) {
      Interpolate<kInside>(LoadSample(table[i]), value);
#pragma unroll
      for (int v = 0; v < kVector; ++v) Replace(v, value[v], value[v], begin + i);
    }
  }

  // A sample's value, in the same order of operations in every implementation. Pixels that the
  // sample before had are not loaded again.
  template <bool kInside>
  __device__ void Interpolate(const Sample& s, float (&value)[kVector]) {
    const int even = kInside ? s.even() : max(s.even(), 0);
    const int odd = kInside ? s.odd() : max(s.odd(), 0);
    lines_.Load(even, at_even_, even_low_, even_high_);
    lines_.Load(odd, at_odd_, odd_low_, odd_high_);
    at_even_ = even;
    at_odd_ = odd;
    const float even_low = s.even_weight() * low_weight_,
                even_high = s.even_weight() * high_weight_;
    const float odd_low = s.odd_weight() * low_weight_, odd_high = s.odd_weight() * high_weight_;
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      value[v] = even_low * AsFloat(even_low_.element[v]);
      value[v] = fmaf(even_high, AsFloat(even_high_.element[v]), value[v]);
      value[v] = fmaf(odd_low, AsFloat(odd_low_.element[v]), value[v]);
      value[v] = fmaf(odd_high, AsFloat(odd_high_.element[v]), value[v]);
      if (!kInside && s.even() < 0) value[v] = 0;
    }
  }

  __device__ void Replace(int v, float value, float first, int index) {
    const bool more = value > best_[v];
    best_[v] = more ? value : best_[v];
    first_[v] = more ? first : first_[v];
    index_[v] = more ? index : index_[v];
  }

  // A maximum that is NaN is sample 0; if the first sample of two is NaN, the second won.
  __device__ int Index(int v) const {
    return index_[v] + (first_[v] != best_[v] && best_[v] == best_[v] ? 1 : 0);
  }

  // Stores -0 as +0: which zero of a pair wins depends on the window that the pair is in.
  static __device__ void Assign(float value, float& element) { element = value + 0.0f; }
  static __device__ void Assign(float value, __half& element) {
    element = __float2half_rn(value + 0.0f);
  }

  const Lines lines_;
  float low_weight_, high_weight_;
  Channels<T, kVector> even_low_, even_high_, odd_low_, odd_high_;
  int at_even_ = -1, at_odd_ = -1;  // their offsets
  float best_[kVector] = {};
  float first_[kVector] = {};    // of the two samples that the maximum is one of
  int32_t index_[kVector] = {};  // of that sample
};

}  // namespace mluop::border_align
