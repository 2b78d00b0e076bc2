// SPDX-License-Identifier: Apache-2.0
// The samples of one border of several boxes in a table, so that what they weigh is worked out once for all
// channels. Included once per instruction set.

#if defined(MLUOP_BORDER_ALIGN_SAMPLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_BORDER_ALIGN_SAMPLES_INL_H_
#undef MLUOP_BORDER_ALIGN_SAMPLES_INL_H_
#else
#define MLUOP_BORDER_ALIGN_SAMPLES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"
#include "core/simd-inl.h"
#include "ops/border_align/slices.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float Value(float element) { return element; }
HWY_INLINE float Value(Half element) { return ToFloat(element); }

struct Sample {
  bool inside;
  int64_t offset[4];  // of the four neighbours, in elements from pixel (0, 0); none if not inside
  float weight[4];
};

// Edges of up to kBatch boxes, kWindow samples of each at a time. The loops over the batch have a
// constant length: the compiler makes vectors of them, which is ten times as fast as sample by sample.
class SampleTable {
 public:
  // `stride` elements from pixel to pixel.
  HWY_INLINE SampleTable(const Problem& p, int border, int64_t stride)
      : p_(p), border_(border), along_x_(border == kTop || border == kBottom) {
    moving_stride_ = along_x_ ? stride : p.w * stride;
    fixed_stride_ = along_x_ ? p.w * stride : stride;
  }

  // The first samples of `count` boxes.
  template <typename T>
  HWY_INLINE void Start(const T* boxes, int count) {
    for (int e = 0; e < kBatch; ++e) {
      const T* box = boxes + std::min(e, count - 1) * 4;
      const Edge edge = MakeEdge({Value(box[0]), Value(box[1]), Value(box[2]), Value(box[3])},
                                 border_, p_.pool_size);
      position_[e] = edge.start;
      step_[e] = edge.step;
      fixed_[e] = edge.fixed;
    }
    const int fixed_size = along_x_ ? p_.h : p_.w;
    for (int e = 0; e < kBatch; ++e) {
      const Neighbours fixed = FindNeighbours(fixed_[e], fixed_size);
      fixed_inside_[e] = fixed.inside;
      fixed_low_[e] = fixed.low;
      fixed_high_[e] = fixed.high;
      fixed_low_weight_[e] = fixed.low_weight;
      fixed_high_weight_[e] = fixed.high_weight;
    }
    Fill(0);
  }

  // The next samples of all edges; false if there are none.
  HWY_INLINE bool Advance() {
    if (last()) return false;
    Fill(begin_ + count_);
    return true;
  }

  HWY_INLINE int64_t begin() const { return begin_; }  // the index of the window's first sample
  HWY_INLINE int count() const { return count_; }
  HWY_INLINE bool last() const { return begin_ + count_ == p_.samples(); }

  // Sample begin() + i of an edge.
  HWY_INLINE Sample Get(int edge, int64_t i) const {
    const int64_t moving_low = low_[i][edge] * moving_stride_;
    const int64_t moving_high = high_[i][edge] * moving_stride_;
    const int64_t fixed_low = fixed_low_[edge] * fixed_stride_;
    const int64_t fixed_high = fixed_high_[edge] * fixed_stride_;
    return {low_[i][edge] >= 0,
            {fixed_low + moving_low, fixed_low + moving_high, fixed_high + moving_low,
             fixed_high + moving_high},
            {weight_[i][0][edge], weight_[i][1][edge], weight_[i][2][edge], weight_[i][3][edge]}};
  }

 private:
  HWY_INLINE void Fill(int64_t begin) {
    begin_ = begin;
    count_ = static_cast<int>(std::min<int64_t>(kWindow, p_.samples() - begin));
    const int size = along_x_ ? p_.w : p_.h;
    for (int i = 0; i < count_; ++i) {
      for (int e = 0; e < kBatch; ++e) {
        const Neighbours moving = FindNeighbours(position_[e], size);
        low_[i][e] = moving.inside && fixed_inside_[e] ? moving.low : -1;
        high_[i][e] = moving.high;
        weight_[i][0][e] = fixed_low_weight_[e] * moving.low_weight;
        weight_[i][1][e] = fixed_low_weight_[e] * moving.high_weight;
        weight_[i][2][e] = fixed_high_weight_[e] * moving.low_weight;
        weight_[i][3][e] = fixed_high_weight_[e] * moving.high_weight;
        position_[e] += step_[e];
      }
    }
  }

  const Problem& p_;
  int border_;
  bool along_x_;
  int64_t moving_stride_, fixed_stride_;
  int64_t begin_;
  int count_;
  alignas(64) float position_[kBatch];  // of the sample after the window
  alignas(64) float step_[kBatch];
  alignas(64) float fixed_[kBatch];
  alignas(64) int32_t fixed_inside_[kBatch];
  alignas(64) int32_t fixed_low_[kBatch];
  alignas(64) int32_t fixed_high_[kBatch];
  alignas(64) float fixed_low_weight_[kBatch];
  alignas(64) float fixed_high_weight_[kBatch];
  alignas(64) int32_t low_[kWindow][kBatch];  // -1: the sample is not inside
  alignas(64) int32_t high_[kWindow][kBatch];
  alignas(64) float weight_[kWindow][4][kBatch];
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::border_align
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_BORDER_ALIGN_SAMPLES_INL_H_
