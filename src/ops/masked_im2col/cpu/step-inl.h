// SPDX-License-Identifier: Apache-2.0
// A step of masks in vectors: kernel columns of all its masks, and which of them are inside the
// feature. Included once per instruction set.

#if defined(MLUOP_OPS_MASKED_IM2COL_CPU_STEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_MASKED_IM2COL_CPU_STEP_INL_H_
#undef MLUOP_OPS_MASKED_IM2COL_CPU_STEP_INL_H_
#else
#define MLUOP_OPS_MASKED_IM2COL_CPU_STEP_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "ops/masked_im2col/cpu/calls.h"
#include "ops/masked_im2col/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

// Two 16-byte blocks at most: shuffles of 64-byte vectors have one port, of 32-byte vectors two.
template <typename T>
using StepTag = hn::CappedTag<T, 32 / sizeof(T)>;

// All ones in the lane of every mask whose index + shift is in [0, size). The sum may pass
// INT32_MAX, and is right as an unsigned number. Block b has the indices from index + b*distance
// on.
template <class D>
HWY_INLINE hn::Vec<D> InRange(D di, const int32_t* index, int distance, int64_t shift, int size) {
  const hn::RebindToUnsigned<D> du;
  const auto indices = LoadBlocks(di, [&](int b) { return index + b * distance; });
  const auto sum = hn::Add(hn::BitCast(du, indices), hn::Set(du, static_cast<uint32_t>(shift)));
  const auto inside = hn::Lt(sum, hn::Set(du, static_cast<uint32_t>(size)));
  return hn::BitCast(di, hn::VecFromMask(du, inside));
}

HWY_INLINE hn::Vec<StepTag<float>> Inside(StepTag<float> d, const int32_t* index, int64_t shift,
                                          int size) {
  const hn::RebindToSigned<decltype(d)> di;
  return hn::BitCast(d, InRange(di, index, 4, shift, size));
}

HWY_INLINE hn::Vec<StepTag<uint16_t>> Inside(StepTag<uint16_t> d, const int32_t* index,
                                             int64_t shift, int size) {
  const hn::Repartition<int32_t, decltype(d)> wide;
  const hn::RebindToSigned<decltype(d)> narrow;
  // The demotion takes blocks from its two arguments in turn.
  const auto low = InRange(wide, index, 8, shift, size);
  const auto high = InRange(wide, index + 4, 8, shift, size);
  return hn::BitCast(d, hn::ReorderDemote2To(narrow, low, high));
}

// store(k, v) gets column k of all masks.
template <int kCount, class Store>
HWY_INLINE void LoadColumns(StepTag<float> d, const float* from, const int64_t* corner,
                            const Store& store) {
  const auto row = [&](int r) {
    return LoadBlocks(d, [&](int b) { return from + corner[r + 4 * b]; });
  };
  Transpose4<kCount>(d, row, store);
}

template <int kCount, class Store>
HWY_INLINE void LoadColumns(StepTag<uint16_t> d, const uint16_t* from, const int64_t* corner,
                            const Store& store) {
  const auto row = [&](int r) {
    return LoadBlocks(d, [&](int b) { return from + corner[r + 8 * b]; });
  };
  Transpose8<kCount>(d, row, store);
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_MASKED_IM2COL_CPU_STEP_INL_H_
