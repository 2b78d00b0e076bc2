// SPDX-License-Identifier: Apache-2.0
// masked_im2col backward on the CPU. A work item is a band of pixels of eight channels. It sums in float
// in [pixel][channel] order, so that one kernel element of one mask is one vector add: tiles of grad_col,
// eight channels by four masks, are transposed on the way in and bands on the way out. A pixel's
// additions come by blocks of masks, in them by kernel element, then by mask: the same order for any
// bands, threads and vector lengths.
#include <algorithm>

#include "core/dtype.h"
#include "ops/masked_im2col/calls.h"
#include "ops/masked_im2col/cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col/cpu_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/masked_im2col/rows-inl.h"

// Below AVX2 Highway's conversions of half round towards zero and lose infinities.
#undef MLUOP_CONVERT_HALF
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
#define MLUOP_CONVERT_HALF 1
#else
#define MLUOP_CONVERT_HALF 0
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::ZeroRow;

constexpr int64_t kLanes = BackwardCall<float>::kLanes;
// Pixels whose sums are transposed, and rounded, at once.
constexpr int64_t kChunk = 256;
constexpr int64_t kTile = 8;
// Masks whose kernel elements are added before the next block's.
constexpr int64_t kBlock = 1024;

HWY_INLINE float Value(float element) { return element; }
HWY_INLINE float Value(uint16_t element) { return ToFloat(Half{element}); }

// One kernel element: rows of grad_col, one per lane (lanes without a channel repeat the last), and
// where its pixel is in the band, from a mask's corner.
template <typename T>
struct Tap {
  int64_t i, j;
  const T* rows[kLanes];
  int64_t shift, pixels;
};

// Mask m's pixel in the band; -1 if it is outside the band or the feature.
template <typename T>
HWY_INLINE int64_t PixelOf(const Problem& p, const MaskTable& masks, const Tap<T>& tap, int64_t m) {
  const int64_t pixel = masks.corner[m] + tap.shift;
  const bool inside = p.HasRow(masks.top[m] + tap.i) && p.HasColumn(masks.left[m] + tap.j);
  return inside && pixel >= 0 && pixel < tap.pixels ? pixel : -1;
}

template <typename T>
void AddElements(const BackwardCall<T>& call, const Band& band, const Tap<T>& tap, int64_t begin,
                 int64_t end) {
  for (int64_t m = begin; m < end; ++m) {
    const int64_t pixel = PixelOf(call.p, call.masks, tap, m);
    if (pixel < 0) continue;
    for (int64_t k = 0; k < kLanes; ++k) band.sums[pixel * kLanes + k] += Value(tap.rows[k][m]);
  }
}

#if HWY_TARGET != HWY_SCALAR

using Lanes = hn::CappedTag<float, kLanes>;
using Block = hn::FixedTag<float, 4>;

HWY_INLINE hn::Vec<Block> LoadFour(const float* from) { return hn::LoadU(Block(), from); }
HWY_INLINE hn::Vec<Block> LoadFour(const uint16_t* from) {
#if MLUOP_CONVERT_HALF
  const hn::Rebind<uint16_t, Block> bits;
  const hn::Rebind<hwy::float16_t, Block> halves;
  return hn::PromoteTo(Block(), hn::BitCast(halves, hn::LoadU(bits, from)));
#else
  alignas(16)
      const float values[4] = {Value(from[0]), Value(from[1]), Value(from[2]), Value(from[3])};
  return hn::Load(Block(), values);
#endif
}

// Four masks of channels row[0] and, in the second block if there is one, row[4].
template <typename T>
HWY_INLINE hn::Vec<Lanes> LoadChannels(const T* const* row, int64_t m) {
  if constexpr (hn::MaxLanes(Lanes()) == 8) {
    return hn::Combine(Lanes(), LoadFour(row[4] + m), LoadFour(row[0] + m));
  } else {
    return LoadFour(row[0] + m);
  }
}

// Masks [m, m + 4), of all channels. pixel(m) is where in the band, -1 if nowhere.
template <typename T, class Pixel>
HWY_INLINE void AddFour(float* sums, const T* const* rows, int64_t m, const Pixel& pixel) {
  const Lanes d;
  for (int64_t lane = 0; lane < kLanes; lane += static_cast<int64_t>(hn::Lanes(d))) {
    const auto row = [&](int r) { return LoadChannels(rows + lane + r, m); };
    Transpose4<4>(d, row, [&](int k, auto v) {
      const int64_t at = pixel(m + k);
      if (at < 0) return;
      float* sum = sums + at * kLanes + lane;
      hn::Store(hn::Add(hn::Load(d, sum), v), d, sum);
    });
  }
}

template <typename T>
void AddSteps(const BackwardCall<T>& call, const Band& band, const Tap<T>& tap, int64_t begin,
              int64_t end) {
  constexpr int64_t kStep = BackwardCall<T>::kStep;
  // Copies: the compiler has to expect that a vector store changes what it has only a reference to.
  const Problem p = call.p;
  const MaskTable masks = call.masks;
  const Tap<T> t = tap;
  float* sums = band.sums;
  for (int64_t m = begin; m < end; m += kStep) {
    const Step& step = masks.steps[m / kStep];
    const int64_t low = int64_t{step.top_min} * p.width + step.left_min + t.shift;
    const int64_t high = int64_t{step.top_max} * p.width + step.left_max + t.shift;
    if (high < 0 || low >= t.pixels) continue;
    if (step.inside && low >= 0 && high < t.pixels) {
      const auto pixel = [&](int64_t mask) { return masks.corner[mask] + t.shift; };
      for (int64_t k = 0; k < kStep; k += 4) AddFour(sums, t.rows, m + k, pixel);
    } else {
      const auto pixel = [&](int64_t mask) { return PixelOf(p, masks, t, mask); };
      for (int64_t k = 0; k < kStep; k += 4) AddFour(sums, t.rows, m + k, pixel);
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

// Adds kernel element (i, j) of masks [begin, end).
template <typename T>
void AddTap(const BackwardCall<T>& call, const Band& band, int64_t i, int64_t j, int64_t begin,
            int64_t end) {
  const Problem& p = call.p;
  Tap<T> tap = {i, j, {}, i * p.width + j - band.begin, band.end - band.begin};
  for (int64_t k = 0; k < kLanes; ++k) {
    const int64_t channel = band.channel + std::min(k, band.channels - 1);
    tap.rows[k] = call.grad_col + (channel * p.taps() + i * p.kernel_w + j) * p.masks;
  }
  int64_t whole = begin;
#if HWY_TARGET != HWY_SCALAR
  whole += (end - begin) / call.kStep * call.kStep;
  AddSteps(call, band, tap, begin, whole);
#endif
  AddElements(call, band, tap, whole, end);
}

// Rounds to nearest even.
HWY_INLINE void RoundRow(const float* from, int64_t n, uint16_t* to) {
#if MLUOP_CONVERT_HALF
  mluop::HWY_NAMESPACE::ForEach<float>(n, [&](auto d, int64_t i) {
    const hn::Rebind<uint16_t, decltype(d)> bits;
    const hn::Rebind<hwy::float16_t, decltype(d)> halves;
    hn::StoreU(hn::BitCast(bits, hn::DemoteTo(halves, hn::LoadU(d, from + i))), bits, to + i);
  });
#else
  for (int64_t i = 0; i < n; ++i) to[i] = ToHalf(from[i]).bits;
#endif
}

HWY_INLINE void WriteSums(const float* sums, int64_t n, float* to, bool stream) {
  WriteRow(sums, n, to, stream);
}
HWY_INLINE void WriteSums(const float* sums, int64_t n, uint16_t* to, bool stream) {
  alignas(kAlignment) uint16_t rounded[kChunk];
  RoundRow(sums, n, rounded);
  WriteRow(rounded, n, to, stream);
}

// Turns [pixel][channel] into [channel][pixel], for kChunk pixels at most, in tiles of kTile pixels: what is
// behind the last pixel up to a whole tile is there too.
HWY_INLINE void TransposeSums(const float* sums, int64_t pixels, float* stage) {
  for (int64_t pixel = 0; pixel < pixels; pixel += kTile) {
    const float* from = sums + pixel * kLanes;
    for (int64_t lane = 0; lane < kLanes; lane += 4) {
      float* to = stage + lane * kChunk + pixel;
#if HWY_TARGET == HWY_SCALAR
      for (int64_t k = 0; k < 4 * kTile; ++k) {
        to[k / kTile * kChunk + k % kTile] = from[k % kTile * kLanes + lane + k / kTile];
      }
#else
      const Lanes d;
      for (int64_t p = 0; p < kTile; p += static_cast<int64_t>(hn::Lanes(d))) {
        const auto row = [&](int r) {
          return LoadBlocks(d, [&](int b) { return from + (p + r + 4 * b) * kLanes + lane; });
        };
        Transpose4<4>(d, row, [&](int k, auto v) { hn::Store(v, d, to + k * kChunk + p); });
      }
#endif
    }
  }
}

template <typename T>
void WriteBand(const BackwardCall<T>& call, const Band& band) {
  alignas(kAlignment) float stage[kLanes * kChunk];
  for (int64_t begin = band.begin; begin < band.end; begin += kChunk) {
    const int64_t count = std::min(kChunk, band.end - begin);
    TransposeSums(band.sums + (begin - band.begin) * kLanes, count, stage);
    for (int64_t k = 0; k < band.channels; ++k) {
      T* plane = call.grad_feature + (band.channel + k) * call.p.plane();
      WriteSums(stage + k * kChunk, count, plane + begin, call.stream);
    }
  }
}

// The pixels that the masks may reach, within the band.
template <typename T>
void Touched(const BackwardCall<T>& call, const Band& band, int64_t* begin, int64_t* end) {
  const Problem& p = call.p;
  int64_t low = band.end;
  int64_t high = band.begin;
  for (int64_t s = 0; s < call.masks.step_count; ++s) {
    const Step& step = call.masks.steps[s];
    const int64_t first = int64_t{step.top_min} * p.width + step.left_min;
    const int64_t last =
        (int64_t{step.top_max} + p.kernel_h - 1) * p.width + step.left_max + p.kernel_w;  // its end
    if (last <= band.begin || first >= band.end) continue;
    low = std::min(low, first);
    high = std::max(high, last);
  }
  *begin = std::max(low, band.begin);
  *end = std::max(std::min(high, band.end), *begin);
}

template <typename T>
void SumBand(const BackwardCall<T>& call, const Band& band) {
  const Problem& p = call.p;
  Band touched = band;
  Touched(call, band, &touched.begin, &touched.end);
  for (int64_t k = 0; k < band.channels; ++k) {
    T* plane = call.grad_feature + (band.channel + k) * p.plane();
    WriteZeros(plane + band.begin, touched.begin - band.begin, call.stream);
    WriteZeros(plane + touched.end, band.end - touched.end, call.stream);
  }
  const int64_t pixels = (touched.end - touched.begin + kTile - 1) / kTile * kTile;
  ZeroRow(touched.sums, pixels * kLanes);
  for (int64_t begin = 0; begin < p.masks && pixels > 0; begin += kBlock) {
    const int64_t end = std::min<int64_t>(begin + kBlock, p.masks);
    for (int64_t i = 0; i < p.kernel_h; ++i) {
      for (int64_t j = 0; j < p.kernel_w; ++j) AddTap(call, touched, i, j, begin, end);
    }
  }
  WriteBand(call, touched);
  if (call.stream) hwy::FlushStream();
}

void BackwardFloat(const BackwardCall<float>& call, const Band& band) { SumBand(call, band); }
void BackwardHalf(const BackwardCall<uint16_t>& call, const Band& band) { SumBand(call, band); }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col {
namespace {

HWY_EXPORT(BackwardFloat);
HWY_EXPORT(BackwardHalf);

constexpr int64_t kLanes = BackwardCall<float>::kLanes;
// Additions, or elements written, that are worth a range of their own: some microseconds.
constexpr int64_t kGrain = 16384;
// The sums of a band stay in the L2 cache: 1 MiB.
constexpr int64_t kMaxBand = 32768;
// A smaller band does not pay for its walk over the masks.
constexpr int64_t kMinBand = 1024;

// Pixels of a band. Bands beyond those that memory asks for give work to threads that would have none.
int64_t BandPixels(int64_t plane, int64_t groups, int64_t threads) {
  const int64_t wanted = std::max((plane + kMaxBand - 1) / kMaxBand, 2 * threads / groups);
  const int64_t bands = std::min(wanted, (plane + kMinBand - 1) / kMinBand);
  const int64_t pixels = (plane + bands - 1) / bands;
  return (pixels + 15) / 16 * 16;  // whole cache lines
}

template <typename T, class Kernel>
void Run(const Arguments& arguments, Context& context, Kernel kernel) {
  const Problem p = MakeProblem(arguments);
  ThreadPool& threads = context.threads();
  const int64_t groups = (p.channels + kLanes - 1) / kLanes;
  const int64_t pixels = BandPixels(p.plane(), groups, threads.num_threads());
  const int64_t bands = (p.plane() + pixels - 1) / pixels;
  const size_t sum_bytes = static_cast<size_t>(pixels * kLanes) * sizeof(float);
  const size_t all_sums = p.masks == 0 ? 0 : sum_bytes * threads.num_threads();
  char* memory = static_cast<char*>(
      context.Scratch(all_sums + MaskTableBytes(p.masks, BackwardCall<T>::kStep)));
  const BackwardCall<T> call = {
      p,
      MakeMaskTable(p, arguments.In<int32_t>("mask_h_idx"), arguments.In<int32_t>("mask_w_idx"),
                    BackwardCall<T>::kStep, memory + all_sums, threads),
      arguments.In<T>("grad_col"), arguments.Out<T>("grad_feature"),
      static_cast<int64_t>(arguments.Tensor("grad_feature").ByteCount()) >= kStreamBytes};
  const int64_t work = kLanes * (pixels + p.taps() * p.masks / bands);
  threads.For(groups * bands, kGrain / work + 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t channel = item / bands * kLanes;
      const int64_t first = item % bands * pixels;
      auto* sums = reinterpret_cast<float*>(memory + (all_sums == 0 ? 0 : worker * sum_bytes));
      kernel(call, {channel, std::min(kLanes, p.channels - channel), first,
                    std::min(first + pixels, p.plane()), sums});
    }
  });
}

}  // namespace

mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context) {
  if (arguments.Type() == MLUOP_DTYPE_FLOAT) {
    Run<float>(arguments, context, HWY_DYNAMIC_DISPATCH(BackwardFloat));
  } else {
    Run<uint16_t>(arguments, context, HWY_DYNAMIC_DISPATCH(BackwardHalf));
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::masked_im2col
#endif  // HWY_ONCE
