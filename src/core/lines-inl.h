// SPDX-License-Identifier: Apache-2.0
// Floats written front to back in whole, aligned vectors, whatever the pieces they come in. Included
// once per instruction set.

#if defined(MLUOP_CORE_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CORE_LINES_INL_H_
#undef MLUOP_CORE_LINES_INL_H_
#else
#define MLUOP_CORE_LINES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if MLUOP_MASKS_MEMORY

// Collects pieces in a register and stores it when it is full, past the caches if `stream` says so
// (FlushStream() before another thread may read it). Pieces end where they like: a line that two of
// them share is still one store, which is what non-temporal stores need to be fast.
class LineWriter {
 public:
  using D = hn::ScalableTag<float>;
  static constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

  LineWriter(float* to, bool stream) : LineWriter(to, to, stream) {}

  // Goes on at `to` with what Pause() left in `paused`. `first` is the first float that is the
  // writer's: of the vector around it, what is before is another's.
  LineWriter(float* to, float* first, bool stream, const float* paused = nullptr)
      : stream_(stream) {
    fill_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) / sizeof(float)) % kLanes;
    line_ = to - fill_;
    skip_ = first > line_ ? first - line_ : 0;
    vector_ = paused == nullptr ? hn::Zero(d_) : hn::Load(d_, paused);
  }

  HWY_INLINE void Append(const float* from, int64_t n) {
    from -= fill_;
    const int64_t end = fill_ + n;
    if (end < kLanes) {
      Add(hn::AndNot(First(fill_), First(end)), from);
      fill_ = end;
      return;
    }
    Add(hn::Not(First(fill_)), from);
    Put(vector_);
    int64_t i = kLanes;
    for (; i + kLanes <= end; i += kLanes) Put(hn::LoadU(d_, from + i));
    fill_ = end - i;
    vector_ = hn::MaskedLoad(First(fill_), d_, from + i);
  }

  HWY_INLINE void AppendZeros(int64_t n) {
    fill_ += n;
    if (fill_ < kLanes) return;
    Put(vector_);
    vector_ = hn::Zero(d_);
    for (fill_ -= kLanes; fill_ >= kLanes; fill_ -= kLanes) Put(vector_);
  }

  // Stores what the last vector holds so far.
  void Finish() {
    if (fill_ <= skip_) return;
    hn::BlendedStore(vector_, hn::AndNot(First(skip_), First(fill_)), d_, line_);
  }

  // Keeps it for the writer that goes on here. `paused`: an aligned vector.
  void Pause(float* paused) const { hn::Store(vector_, d_, paused); }

 private:
  HWY_INLINE hn::Mask<D> First(int64_t n) const { return hn::FirstN(d_, static_cast<size_t>(n)); }

  HWY_INLINE void Add(hn::Mask<D> lanes, const float* from) {
    const hn::RebindToUnsigned<D> bits;
    const auto piece = hn::BitCast(bits, hn::MaskedLoad(lanes, d_, from));
    vector_ = hn::BitCast(d_, hn::Or(hn::BitCast(bits, vector_), piece));
  }

  HWY_INLINE void Put(hn::Vec<D> v) {
    if (HWY_UNLIKELY(skip_ != 0)) {
      hn::BlendedStore(v, hn::Not(First(skip_)), d_, line_);
      skip_ = 0;
    } else if (stream_) {
      hn::Stream(v, d_, line_);
    } else {
      hn::Store(v, d_, line_);
    }
    line_ += kLanes;
  }

  static constexpr D d_{};
  hn::Vec<D> vector_;  // 0 from lane fill_ on
  float* line_;
  int64_t fill_;
  int64_t skip_;
  bool stream_;
};

#else

// Where there are no masked accesses: at once, and through the caches.
class LineWriter {
 public:
  LineWriter(float* to, bool) : to_(to) {}
  LineWriter(float* to, float*, bool, const float* = nullptr) : to_(to) {}

  HWY_INLINE void Append(const float* from, int64_t n) {
    CopyRow(from, n, to_);
    to_ += n;
  }
  HWY_INLINE void AppendZeros(int64_t n) {
    ZeroRow(to_, n);
    to_ += n;
  }
  void Finish() {}
  void Pause(float*) const {}

 private:
  float* to_;
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CORE_LINES_INL_H_
