// SPDX-License-Identifier: Apache-2.0
// LineWriter: appends runs of floats (contiguous, any length) to an output and stores whole,
// aligned cache lines. Included once per instruction set.

#if defined(MLUOP_CPU_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CPU_LINES_INL_H_
#undef MLUOP_CPU_LINES_INL_H_
#else
#define MLUOP_CPU_LINES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if MLUOP_HAS_MASKED_ACCESS

// Collects appended runs in registers and stores each line when it is full. `stream` selects
// non-temporal stores; call FlushStream() before another thread reads. A line that two runs share
// is stored once, as non-temporal stores require. With AVX2 a line is two vectors: storing each as
// soon as it is full takes up to 2.7x the time.
class LineWriter {
 public:
  static constexpr int64_t kLine = 16;  // floats

  LineWriter(float* to, bool stream) : LineWriter(to, to, stream) {}

  // Continues at `to` with the line that Pause() saved in `paused`. Does not write the floats
  // before `first`: they belong to another writer.
  LineWriter(float* to, float* first, bool stream, const float* paused = nullptr)
      : line_(paused == nullptr ? SetVecs<kVecs>(d_, 0.0f) : LoadVecs<kVecs>(d_, paused)),
        fill_(static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) / sizeof(float)) % kLine),
        stream_(stream) {
    to_ = to - fill_;
    skip_ = first > to_ ? first - to_ : 0;
  }

  HWY_INLINE void Append(const float* from, int64_t n) {
    from -= fill_;
    const int64_t end = fill_ + n;
    if (end < kLine) {
      Add(from, end);
      fill_ = end;
      return;
    }
    Add(from, kLine);
    Put(line_);
    int64_t at = kLine;
    for (; at + kLine <= end; at += kLine) Put(LoadVecs<kVecs>(d_, from + at));
    fill_ = end - at;
    line_ = MakeVecs<D, kVecs>([&](auto k) HWY_ATTR {
      return hn::MaskedLoad(First(fill_, k), d_, from + at + k * kLanes);
    });
  }

  HWY_INLINE void AppendZeros(int64_t n) {
    fill_ += n;
    if (fill_ < kLine) return;
    Put(line_);
    line_ = SetVecs<kVecs>(d_, 0.0f);
    for (fill_ -= kLine; fill_ >= kLine; fill_ -= kLine) Put(line_);
  }

  // Stores the partial line.
  void Finish() {
    if (fill_ > skip_) StoreBetween(line_, skip_, fill_);
  }

  // Saves the partial line for the writer that continues here. `paused`: an aligned line.
  void Pause(float* paused) const { StoreVecs(line_, d_, paused); }

 private:
  using D = hn::ScalableTag<float>;
  static constexpr D d_{};
  static constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  static constexpr int kVecs = kLine / kLanes;
  using Line = VecArray<D, kVecs>;

  // Selects the lanes of vector k that are among the first n floats of a line.
  static HWY_INLINE hn::Mask<D> First(int64_t n, int64_t k) {
    return hn::FirstN(d_, static_cast<size_t>(k == 0 ? n : std::max<int64_t>(n - k * kLanes, 0)));
  }

  // Fills the floats [fill_, end) of the line.
  HWY_INLINE void Add(const float* from, int64_t end) {
    Unroll<kVecs>([&](auto k) HWY_ATTR {
      const auto lanes = hn::AndNot(First(fill_, k), First(end, k));
      line_.v[k] = hn::Or(line_.v[k], hn::MaskedLoad(lanes, d_, from + k * kLanes));
    });
  }

  HWY_INLINE void Put(const Line& line) {
    if (HWY_UNLIKELY(skip_ != 0)) {
      StoreBetween(line, skip_, kLine);
      skip_ = 0;
    } else if (stream_) {
      Unroll<kVecs>([&](auto k) HWY_ATTR { hn::Stream(line.v[k], d_, to_ + k * kLanes); });
    } else {
      StoreVecs(line, d_, to_);
    }
    to_ += kLine;
  }

  HWY_INLINE void StoreBetween(const Line& line, int64_t begin, int64_t end) {
    Unroll<kVecs>([&](auto k) HWY_ATTR {
      const auto lanes = hn::AndNot(First(begin, k), First(end, k));
      hn::BlendedStore(line.v[k], lanes, d_, to_ + k * kLanes);
    });
  }

  Line line_;  // zeros from float fill_ on
  float* to_;  // its address in the output
  int64_t fill_;
  int64_t skip_;
  bool stream_;
};

#else

// Without masked stores: stores every run immediately, with temporal stores.
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

}  // namespace mluop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CPU_LINES_INL_H_
