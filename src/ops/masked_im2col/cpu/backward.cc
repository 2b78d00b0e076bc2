// SPDX-License-Identifier: Apache-2.0
// masked_im2col backward on the CPU. A work item is a band of pixels of eight channels. It sums in
// float in [pixel][channel] order, so that one kernel element of one mask is one vector add: tiles
// of grad_col, eight channels by four masks, are transposed on the way in and bands on the way out.
// With few channels or few masks channels go one after the other. A pixel's additions come by
// blocks of masks, in them by kernel element, then by mask: the same order for any bands, threads
// and instruction sets.
#include <algorithm>

#include "cpu/tuning.h"
#include "ops/masked_im2col/cpu/calls.h"
#include "ops/masked_im2col/cpu/operators.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col/cpu/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/masked_im2col/cpu/sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::LoadFloats;
using mluop::HWY_NAMESPACE::ZeroRow;

// One kernel element: its rows of grad_col, and where its pixels are in the band.
template <typename T>
struct Tap {
  int64_t i, j;
  const T* row;    // of the first channel
  int64_t stride;  // from channel to channel
  int64_t shift;   // from a mask's corner to the pixel in the band
  int64_t pixels;  // of the band
  float* sums;
};

// Mask m's pixel in the band; -1 if it is outside the band or the feature.
template <typename T>
HWY_INLINE int64_t PixelOf(const Problem& p, const MaskTable& masks, const Tap<T>& tap, int64_t m) {
  const int64_t pixel = masks.corner[m] + tap.shift;
  const bool inside = p.HasRow(masks.top[m] + tap.i) && p.HasColumn(masks.left[m] + tap.j);
  return inside && pixel >= 0 && pixel < tap.pixels ? pixel : -1;
}

// Adds masks [m, end), fewer than a step, of kWidth channels.
template <int kWidth, typename T, class Pixel>
HWY_INLINE void AddElements(const Tap<T>& tap, int64_t m, int64_t end, const Pixel& pixel) {
  for (; m < end; ++m) {
    const int64_t at = pixel(m);
    if (at < 0) continue;
    float* sums = tap.sums + at * kWidth;
    for (int64_t k = 0; k < kWidth; ++k) sums[k] += ToFloat(tap.row[k * tap.stride + m]);
  }
}

#if HWY_TARGET != HWY_SCALAR

// Four masks of the channel at `row` and, in the second block if there is one, of four channels on.
template <typename T>
HWY_INLINE hn::Vec<Lanes> LoadChannels(const T* row, int64_t stride) {
  const FourLanes d;
  if constexpr (hn::MaxLanes(Lanes()) == 8) {
    return hn::Combine(Lanes(), LoadFloats(d, row + 4 * stride), LoadFloats(d, row));
  } else {
    return LoadFloats(d, row);
  }
}

// Adds masks [m, m + 4) of kLanes channels.
template <typename T, class Pixel>
HWY_INLINE void AddFour(const Tap<T>& tap, int64_t m, const Pixel& pixel) {
  const Lanes d;
  for (int64_t lane = 0; lane < kLanes; lane += static_cast<int64_t>(hn::Lanes(d))) {
    const T* from = tap.row + lane * tap.stride + m;
    const auto row = [&](int r) { return LoadChannels(from + r * tap.stride, tap.stride); };
    Transpose4<4>(d, row, [&](int k, auto v) {
      const int64_t at = pixel(m + k);
      if (at < 0) return;
      float* sum = tap.sums + at * kLanes + lane;
      hn::Store(hn::Add(hn::Load(d, sum), v), d, sum);
    });
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

// Adds masks [m, end), one step or what is left at the end.
template <int kWidth, typename T, class Pixel>
HWY_INLINE void AddStep(const Tap<T>& tap, int64_t m, int64_t end, const Pixel& pixel) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kWidth == kLanes) {
    for (; m + 4 <= end; m += 4) AddFour(tap, m, pixel);
  }
#endif
  AddElements<kWidth>(tap, m, end, pixel);
}

// Adds one kernel element of masks [begin, end).
template <int kWidth, typename T>
HWY_INLINE void AddTap(const Problem& p, const MaskTable& masks, const Tap<T>& tap, int64_t begin,
                       int64_t end) {
  constexpr int64_t kStep = BackwardCall<T>::kStep;
  const bool one_band = tap.pixels == p.plane();
  for (int64_t m = begin; m < end; m += kStep) {
    const Step& step = masks.steps[m / kStep];
    const int64_t step_end = std::min(m + kStep, end);
    bool inside = step.inside;
    if (!one_band) {
      const int64_t low = int64_t{step.top_min} * p.width + step.left_min + tap.shift;
      const int64_t high = int64_t{step.top_max} * p.width + step.left_max + tap.shift;
      if (high < 0 || low >= tap.pixels) continue;
      inside = inside && low >= 0 && high < tap.pixels;
    }
    if (inside) {
      AddStep<kWidth>(tap, m, step_end, [&](int64_t k) { return masks.corner[k] + tap.shift; });
    } else {
      AddStep<kWidth>(tap, m, step_end, [&](int64_t k) { return PixelOf(p, masks, tap, k); });
    }
  }
}

// Sums pixels [band.begin, band.end) of kWidth channels from `channel` on.
template <int kWidth, typename T>
void Sum(const BackwardCall<T>& call, const Band& band, int64_t channel) {
  // Copies: the compiler has to expect that a vector store changes what it has only a reference to.
  const Problem p = call.p;
  const MaskTable masks = call.masks;
  const int64_t stride = p.taps() * p.masks;
  const int64_t pixels = band.pixels();
  ZeroRow(band.sums, kWidth == 1 ? pixels : (pixels + 7) / 8 * 8 * kWidth);
  for (int64_t begin = 0; begin < p.masks; begin += kAddedMasks) {
    const int64_t end = std::min<int64_t>(begin + kAddedMasks, p.masks);
    const T* row = call.grad_col + channel * stride;
    for (int64_t i = 0; i < p.kernel_h; ++i) {
      for (int64_t j = 0; j < p.kernel_w; ++j, row += p.masks) {
        const int64_t shift = i * p.width + j - band.begin;
        AddTap<kWidth, T>(p, masks, {i, j, row, stride, shift, pixels, band.sums}, begin, end);
      }
    }
  }
}

// The pixels of the band that masks may reach.
template <typename T>
Band Touched(const BackwardCall<T>& call, const Band& band) {
  const Problem& p = call.p;
  int64_t low = band.end;
  int64_t high = band.begin;
  for (int64_t s = 0; s < call.masks.step_count; ++s) {
    const Step& step = call.masks.steps[s];
    const int64_t begin = int64_t{step.top_min} * p.width + step.left_min;
    const int64_t end =
        (int64_t{step.top_max} + p.kernel_h - 1) * p.width + step.left_max + p.kernel_w;
    if (end <= band.begin || begin >= band.end) continue;
    low = std::min(low, begin);
    high = std::max(high, end);
  }
  Band touched = band;
  touched.begin = std::max(low, band.begin);
  touched.end = std::max(std::min(high, band.end), touched.begin);
  return touched;
}

// One channel at a time: floats are summed where they belong.
HWY_INLINE void SumPlane(const BackwardCall<float>& call, Band band, int64_t channel) {
  band.sums = call.grad_feature + channel * call.p.plane() + band.begin;
  Sum<1>(call, band, channel);
}
HWY_INLINE void SumPlane(const BackwardCall<Half>& call, const Band& band, int64_t channel) {
  Sum<1>(call, band, channel);
  WriteSums(band.sums, band.pixels(), call.grad_feature + channel * call.p.plane() + band.begin,
            call.stream);
}

// kLanes channels at a time.
#if HWY_TARGET != HWY_SCALAR
template <typename T>
void SumSideBySide(const BackwardCall<T>& call, const Band& band) {
  const Band touched = Touched(call, band);
  for (int64_t k = band.skip; k < kLanes; ++k) {
    auto* out = Elements(call.grad_feature + (band.channel + k) * call.p.plane());
    WriteZeros(out + band.begin, touched.begin - band.begin, call.stream);
    WriteZeros(out + touched.end, band.end - touched.end, call.stream);
  }
  if (touched.pixels() == 0) return;
  Sum<kLanes>(call, touched, band.channel);
  WriteLanes(call, touched);
}
#endif

template <typename T>
void SumBand(const BackwardCall<T>& call, const Band& band) {
#if HWY_TARGET != HWY_SCALAR
  if (call.side_by_side()) return SumSideBySide(call, band);
#endif
  for (int64_t k = band.skip; k < band.channels; ++k) {
    const int64_t channel = band.channel + k;
    if (call.p.masks == 0) {  // and no memory for sums
      WriteZeros(Elements(call.grad_feature + channel * call.p.plane() + band.begin), band.pixels(),
                 call.stream);
    } else {
      SumPlane(call, band, channel);
    }
  }
}

void BackwardFloat(const BackwardCall<float>& call, const Band& band) {
  SumBand(call, band);
  if (call.stream) hwy::FlushStream();
}
void BackwardHalf(const BackwardCall<Half>& call, const Band& band) {
  SumBand(call, band);
  if (call.stream) hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col {
namespace {

HWY_EXPORT(BackwardFloat);
HWY_EXPORT(BackwardHalf);

// Pixels of a band. Bands beyond those that memory asks for give work to threads that would have
// none.
int64_t BandPixels(int64_t plane, int64_t lanes, int64_t groups, int64_t threads) {
  const int64_t most = kMaxSums / lanes;
  const int64_t wanted =
      std::max((plane + most - 1) / most, threads == 1 ? 1 : 2 * threads / groups);
  const int64_t bands = std::min(wanted, (plane + kMinBand - 1) / kMinBand);
  const int64_t pixels = (plane + bands - 1) / bands;
  return WholeLines(pixels);
}

template <typename T, class Kernel>
void Run(const Arguments& arguments, CpuContext& context, Kernel kernel) {
  BackwardCall<T> call = {};
  call.p = MakeProblem(arguments);
  call.grad_col = arguments.In<T>("grad_col");
  call.grad_feature = arguments.Out<T>("grad_feature");
  call.stream = arguments.Tensor("grad_feature").ByteCount() >= kStreamBytes;
  const Problem& p = call.p;
  ThreadPool& threads = context.threads();
  const int64_t lanes = call.lanes();
  const int64_t groups = (p.channels + lanes - 1) / lanes;
  const int64_t width = call.side_by_side() ? lanes : 1;  // of the sums
  const int64_t pixels = BandPixels(p.plane(), width, groups, threads.num_threads());
  const int64_t bands = (p.plane() + pixels - 1) / pixels;
  const int64_t sums = p.masks == 0 ? 0 : pixels * width;  // of one worker
  const size_t sum_bytes = static_cast<size_t>(sums * threads.num_threads()) * sizeof(float);
  char* memory = static_cast<char*>(
      context.Scratch(sum_bytes + MaskTableBytes(p.masks, BackwardCall<T>::kStep)));
  call.masks =
      MakeMaskTable(p, arguments.In<int32_t>("mask_h_idx"), arguments.In<int32_t>("mask_w_idx"),
                    BackwardCall<T>::kStep, memory + sum_bytes, threads);
  const int64_t work = lanes * (pixels + p.taps() * p.masks / bands);
  threads.For(groups * bands, kGrain / work + 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t wanted = item / bands * lanes;
      const int64_t last = std::min(wanted + lanes, int64_t{p.channels});
      const int64_t channel = call.side_by_side() ? last - lanes : wanted;
      const int64_t first = item % bands * pixels;
      kernel(call, {channel, last - channel, first, std::min(first + pixels, p.plane()),
                    reinterpret_cast<float*>(memory) + worker * sums, wanted - channel});
    }
  });
}

}  // namespace

mluOpStatus_t BackwardCpu(const Arguments& arguments, CpuContext& context) {
  if (arguments.Type() == MLUOP_DTYPE_FLOAT) {
    Run<float>(arguments, context, HWY_DYNAMIC_DISPATCH(BackwardFloat));
  } else {
    Run<Half>(arguments, context, HWY_DYNAMIC_DISPATCH(BackwardHalf));
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::masked_im2col
#endif  // HWY_ONCE
