// SPDX-License-Identifier: Apache-2.0
// The samples of one border of several boxes in a table, so that what they weigh is worked out once
// for all channels. Included once per instruction set.

#if defined(MLUOP_BORDER_ALIGN_SAMPLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_BORDER_ALIGN_SAMPLES_INL_H_
#undef MLUOP_BORDER_ALIGN_SAMPLES_INL_H_
#else
#define MLUOP_BORDER_ALIGN_SAMPLES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/dtype.h"
#include "core/simd-inl.h"
#include "ops/border_align/slices.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct Sample {
  bool inside;
  int64_t offset[4];  // of the four neighbours, in elements from pixel (0, 0); none if not inside
  float weight[4];
};

// Edges of up to kBatch boxes, kWindow samples of each at a time. Vectors lie over the boxes: along
// a box each position waits for the one before.
class SampleTable {
 public:
  // `stride` elements from pixel to pixel.
  HWY_INLINE SampleTable(const Problem& p, int border, int64_t stride)
      : p_(p), border_(border), along_x_(border == kTop || border == kBottom) {
    moving_stride_ = along_x_ ? stride : p.w * stride;
    fixed_stride_ = along_x_ ? p.w * stride : stride;
  }

  // The first samples of `edges` boxes.
  template <typename T>
  HWY_INLINE void Start(const T* boxes, int edges) {
    edges_ = edges;
    for (int e = 0; e < edges; ++e) {
      const T* box = boxes + int64_t{e} * 4;
      const Edge edge =
          MakeEdge({ToFloat(box[0]), ToFloat(box[1]), ToFloat(box[2]), ToFloat(box[3])}, border_,
                   p_.pool_size);
      const Neighbours fixed = FindNeighbours(edge.fixed, along_x_ ? p_.h : p_.w);
      position_[e] = fixed.inside ? edge.start : NAN;  // where all samples are outside
      step_[e] = edge.step;
      fixed_low_[e] = fixed.low * fixed_stride_;
      fixed_high_[e] = fixed.high * fixed_stride_;
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
    const int64_t low = low_[i][edge] * moving_stride_;
    const int64_t high = high_[i][edge] * moving_stride_;
    return {low_[i][edge] >= 0,
            {fixed_low_[edge] + low, fixed_low_[edge] + high, fixed_high_[edge] + low,
             fixed_high_[edge] + high},
            {weight_[i][0][edge], weight_[i][1][edge], weight_[i][2][edge], weight_[i][3][edge]}};
  }

 private:
  HWY_INLINE void Fill(int64_t begin) {
    const hn::CappedTag<float, kBatch> d;
    begin_ = begin;
    count_ = static_cast<int>(std::min<int64_t>(kWindow, p_.samples() - begin));
    for (int e = 0; e < edges_; e += static_cast<int>(hn::Lanes(d))) {
      const auto step = hn::Load(d, step_ + e);
      auto position = hn::Load(d, position_ + e);
      for (int i = 0; i < count_; ++i) {
        FillSamples(d, position, e, i);
        position = hn::Add(position, step);
      }
      hn::Store(position, d, position_ + e);
    }
  }

  // FindNeighbours, a vector at a time.
  template <class D>
  HWY_INLINE void FillSamples(D d, hn::Vec<D> position, int e, int i) {
    const hn::RebindToSigned<D> di;
    const int size = along_x_ ? p_.w : p_.h;
    const auto last_pixel = hn::Set(di, size - 1);
    const auto inside = hn::And(hn::Ge(position, hn::Set(d, -1.0f)),
                                hn::Le(position, hn::Set(d, static_cast<float>(size))));
    const auto clamped = hn::IfThenElseZero(inside, hn::Max(position, hn::Zero(d)));
    const auto truncated = hn::ConvertTo(di, clamped);
    const auto within = hn::RebindMask(d, hn::Lt(truncated, last_pixel));
    const auto above = hn::IfThenElseZero(within, hn::Sub(clamped, hn::ConvertTo(d, truncated)));
    const auto below = hn::Sub(hn::Set(d, 1.0f), above);
    const auto low =
        hn::IfThenElse(hn::RebindMask(di, inside), hn::Min(truncated, last_pixel), hn::Set(di, -1));
    hn::Store(low, di, low_[i] + e);
    hn::Store(hn::Min(hn::Add(truncated, hn::Set(di, 1)), last_pixel), di, high_[i] + e);
    const auto fixed_low = hn::Load(d, fixed_low_weight_ + e);
    const auto fixed_high = hn::Load(d, fixed_high_weight_ + e);
    hn::Store(hn::Mul(fixed_low, below), d, weight_[i][0] + e);
    hn::Store(hn::Mul(fixed_low, above), d, weight_[i][1] + e);
    hn::Store(hn::Mul(fixed_high, below), d, weight_[i][2] + e);
    hn::Store(hn::Mul(fixed_high, above), d, weight_[i][3] + e);
  }

  const Problem& p_;
  int border_;
  bool along_x_;
  int64_t moving_stride_, fixed_stride_;
  int edges_ = 0;
  int64_t begin_ = 0;
  int count_ = 0;
  // Lanes without a box hold zeros, or another box's edge.
  alignas(64) float position_[kBatch] = {};  // of the sample after the window
  alignas(64) float step_[kBatch] = {};
  alignas(64) float fixed_low_weight_[kBatch] = {};
  alignas(64) float fixed_high_weight_[kBatch] = {};
  int64_t fixed_low_[kBatch];
  int64_t fixed_high_[kBatch];
  alignas(64) int32_t low_[kWindow][kBatch];  // -1: the sample is outside
  alignas(64) int32_t high_[kWindow][kBatch];
  alignas(64) float weight_[kWindow][4][kBatch];
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::border_align
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_BORDER_ALIGN_SAMPLES_INL_H_
