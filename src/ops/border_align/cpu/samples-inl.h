// SPDX-License-Identifier: Apache-2.0
// The samples of one border of several boxes in a table, so that their weights are computed once
// for all channels. Included once per instruction set.

#if defined(MLUOP_OPS_BORDER_ALIGN_CPU_SAMPLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_BORDER_ALIGN_CPU_SAMPLES_INL_H_
#undef MLUOP_OPS_BORDER_ALIGN_CPU_SAMPLES_INL_H_
#else
#define MLUOP_OPS_BORDER_ALIGN_CPU_SAMPLES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/simd-inl.h"
#include "ops/border_align/cpu/slices.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = mluop::HWY_NAMESPACE;

struct Sample {
  bool inside;
  int64_t offset[4];  // of the four neighbours, in elements from pixel (0, 0); unused if not inside
  float weight[4];
};

// FindNeighbours on vectors. The weights of low and high are (1 - `above`) and `above`. high is
// low + 1, except at the last pixel.
template <class D>
struct NeighboursVec {
  hn::Mask<D> inside;
  hn::Vec<hn::RebindToSigned<D>> low;
  hn::Vec<D> above;
};

template <class D>
HWY_INLINE NeighboursVec<D> FindNeighboursVec(D d, hn::Vec<D> position, int size) {
  const hn::RebindToSigned<D> di;
  const auto last_pixel = hn::Set(di, size - 1);
  const auto inside = hn::And(hn::Ge(position, hn::Set(d, -1.0f)),
                              hn::Le(position, hn::Set(d, static_cast<float>(size))));
  const auto clamped = hn::IfThenElseZero(inside, hn::Max(position, hn::Zero(d)));
  const auto truncated = hn::ConvertTo(di, clamped);
  const auto within = hn::RebindMask(d, hn::Lt(truncated, last_pixel));
  return {inside, hn::Min(truncated, last_pixel),
          hn::IfThenElseZero(within, hn::Sub(clamped, hn::ConvertTo(d, truncated)))};
}

// The samples of one edge in a table.
struct EdgeSamples {
  int64_t fixed_low, fixed_high, moving_stride;  // elements
  const int32_t *low, *high;                     // [kWindow, kBatch]
  const float* weight;                           // [kWindow, 4, kBatch]

  // Sample i of the table's window.
  HWY_INLINE Sample Get(int64_t i) const {
    const int64_t to_low = low[i * kBatch] * moving_stride;
    const int64_t to_high = high[i * kBatch] * moving_stride;
    const float* w = weight + i * 4 * kBatch;
    return {low[i * kBatch] >= 0,
            {fixed_low + to_low, fixed_low + to_high, fixed_high + to_low, fixed_high + to_high},
            {w[0], w[kBatch], w[2 * kBatch], w[3 * kBatch]}};
  }
};

// Edges of a batch of boxes, kWindow samples of each at a time. Vectors run over the boxes, because
// each position of a box depends on the one before.
class SampleTable {
 public:
  // `stride` is the distance of two pixels in elements.
  HWY_INLINE SampleTable(const Problem& p, int border, int64_t stride)
      : p_(p),
        along_x_(border == kTop || border == kBottom),
        backwards_(border == kBottom || border == kRight) {
    moving_stride_ = along_x_ ? stride : p.w * stride;
    fixed_stride_ = along_x_ ? p.w * stride : stride;
  }

  // Computes the first samples of a batch. boxes: [K, 4] of the image
  template <typename T>
  HWY_INLINE void Start(const T* boxes, const Batch& batch) {
    const hn::CappedTag<float, kBatch> d;
    edges_ = batch.count;
    for (int e = 0; e < edges_; ++e) {
      const T* box = boxes + int64_t{batch.box[e]} * 4;
      simd::ForEach<float>(4, [&](auto d4, int64_t i) {
        hn::StoreU(simd::LoadFloats(d4, box + i), d4, boxes_ + e * 4 + i);
      });
    }
    for (int e = 0; e < edges_; e += static_cast<int>(hn::Lanes(d))) StartEdges(d, e);
    Fill(0);
  }

  // Computes the next samples of all edges; false if there are none.
  HWY_INLINE bool Advance() {
    if (last()) return false;
    Fill(begin_ + count_);
    return true;
  }

  HWY_INLINE int64_t begin() const { return begin_; }  // the index of the window's first sample
  HWY_INLINE int count() const { return count_; }
  HWY_INLINE int64_t samples() const { return p_.samples(); }  // of an edge
  HWY_INLINE bool last() const { return begin_ + count_ == p_.samples(); }

  HWY_INLINE EdgeSamples Edge(int edge) const {
    return {fixed_low_[edge] * fixed_stride_,
            fixed_high_[edge] * fixed_stride_,
            moving_stride_,
            low_[0] + edge,
            high_[0] + edge,
            weight_[0][0] + edge};
  }

 private:
  // Vectorized MakeEdge. Also finds the edges' neighbours on the fixed axis.
  template <class D>
  HWY_INLINE void StartEdges(D d, int e) {
    const hn::RebindToSigned<D> di;
    hn::Vec<D> x1, y1, x2, y2;
    hn::LoadInterleaved4(d, boxes_ + e * 4, x1, y1, x2, y2);
    const auto first = along_x_ ? x1 : y1;
    const auto second = along_x_ ? x2 : y2;
    const auto step = hn::Div(hn::Sub(second, first), hn::Set(d, static_cast<float>(p_.pool_size)));
    const int size = along_x_ ? p_.h : p_.w;
    const auto fixed = backwards_ ? (along_x_ ? y2 : x2) : (along_x_ ? y1 : x1);
    const NeighboursVec<D> places = FindNeighboursVec(d, fixed, size);
    // NaN: all samples are outside.
    hn::Store(hn::IfThenElse(places.inside, backwards_ ? second : first, hn::Set(d, NAN)), d,
              position_ + e);
    hn::Store(backwards_ ? hn::Neg(step) : step, d, step_ + e);
    hn::Store(places.low, di, fixed_low_ + e);
    hn::Store(NextPixel(places.low, size), di, fixed_high_ + e);
    hn::Store(places.above, d, fixed_above_ + e);
  }

  template <class VI>
  static HWY_INLINE VI NextPixel(VI low, int size) {
    const hn::DFromV<VI> di;
    return hn::Min(hn::Add(low, hn::Set(di, 1)), hn::Set(di, size - 1));
  }

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

  template <class D>
  HWY_INLINE void FillSamples(D d, hn::Vec<D> position, int e, int i) {
    const hn::RebindToSigned<D> di;
    const auto one = hn::Set(d, 1.0f);
    const int size = along_x_ ? p_.w : p_.h;
    const NeighboursVec<D> places = FindNeighboursVec(d, position, size);
    const auto inside = hn::RebindMask(di, places.inside);
    hn::Store(hn::IfThenElse(inside, places.low, hn::Set(di, -1)), di, low_[i] + e);
    hn::Store(NextPixel(places.low, size), di, high_[i] + e);
    const auto above = places.above;
    const auto below = hn::Sub(one, above);
    const auto fixed_above = hn::Load(d, fixed_above_ + e);
    const auto fixed_below = hn::Sub(one, fixed_above);
    hn::Store(hn::Mul(fixed_below, below), d, weight_[i][0] + e);
    hn::Store(hn::Mul(fixed_below, above), d, weight_[i][1] + e);
    hn::Store(hn::Mul(fixed_above, below), d, weight_[i][2] + e);
    hn::Store(hn::Mul(fixed_above, above), d, weight_[i][3] + e);
  }

  const Problem& p_;
  bool along_x_;
  bool backwards_;
  int64_t moving_stride_, fixed_stride_;
  int edges_ = 0;
  int64_t begin_ = 0;
  int count_ = 0;
  // Unused lanes hold zeros or stale edges.
  alignas(64) float boxes_[kBatch * 4] = {};
  alignas(64) float position_[kBatch];  // of the sample after the window
  alignas(64) float step_[kBatch];
  alignas(64) float fixed_above_[kBatch];
  alignas(64) int32_t fixed_low_[kBatch];
  alignas(64) int32_t fixed_high_[kBatch];
  alignas(64) int32_t low_[kWindow][kBatch];  // -1: the sample is outside
  alignas(64) int32_t high_[kWindow][kBatch];
  alignas(64) float weight_[kWindow][4][kBatch];
};

// Calls visit(table, batch, edge, c) for each edge, window of samples and block of channels (from c
// on) of the batches [begin, end). `stride`: elements between pixels.
template <typename T, class Visit>
HWY_INLINE void ForEachEdge(const KernelCall& call, const Slice& slice, int64_t stride,
                            int64_t begin, int64_t end, const Visit& visit) {
  const T* boxes = call.arguments.In<T>("boxes") + slice.image * call.p.k * 4;
  SampleTable table(call.p, slice.border, stride);
  for (int64_t i = begin; i < end; ++i) {
    const Batch batch = MakeBatch(call, slice, i * kBatch);
    table.Start(boxes, batch);
    do {
      for (int c = 0; c < slice.channels; c += call.slices.block) {
        for (int edge = 0; edge < batch.count; ++edge) visit(table, batch, edge, c);
      }
    } while (table.Advance());
  }
}

// Visits the slice's pixels block by block as visit(packed offset, tensor offset, channels),
// offsets from the first elements of PackedMap and TensorMap.
template <class Visit>
HWY_INLINE void ForEachRow(const Problem& p, const Slices& slices, const Slice& slice,
                           const Visit& visit) {
  const int block = slices.block;
  for (int64_t pixel = 0; pixel < p.pixels(); ++pixel) {
    for (int c = 0; c < slice.channels; c += block) {
      visit((c / block * p.pixels() + pixel) * block, pixel * p.channels() + c,
            std::min(block, slice.channels - c));
    }
  }
}

}  // namespace mluop::border_align::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_BORDER_ALIGN_CPU_SAMPLES_INL_H_
