// SPDX-License-Identifier: Apache-2.0
// masked_im2col backward on the CPU. A work item sums a band of pixels in float scratch and rounds it
// once. It sums eight channels in [pixel][channel] order: one kernel element of one mask is one vector
// addition. grad_col is transposed when loaded; the sums are transposed when stored. Additions to a
// pixel have the same order on all instruction sets: by blocks of kSumMasks masks, then kernel
// elements, then masks. Every NaN is stored as the default quiet NaN.
#include <algorithm>

#include "cpu/plain_loops.h"
#include "ops/masked_im2col/cpu/mask_table.h"
#include "ops/masked_im2col/cpu/operators.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col/cpu/backward.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/simd-inl.h"
#include "cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = mluop::HWY_NAMESPACE;

using SumTag = hn::CappedTag<float, kInterleaved>;
constexpr int kSide = static_cast<int>(hn::MaxLanes(SumTag()));

// A kernel element in a band: its rows of grad_col, and the offset of its pixels.
template <typename T>
struct Tap {
  int64_t i, j;
  const T* row;    // of the band's first channel
  int64_t stride;  // from channel to channel
  int64_t channels;
  int64_t shift;   // from a mask's corner to its pixel in the band
  int64_t pixels;  // of the band
  float* sums;
};

// Adds masks [m, m + kSide) of kInterleaved channels.
template <typename T, class Pixel>
HWY_INLINE void AddSquares(const Tap<T>& tap, int64_t m, const Pixel& pixel) {
  const SumTag d;
  for (int64_t lane = 0; lane < kInterleaved; lane += kSide) {
    const T* const from = tap.row + lane * tap.stride + m;
    auto v = simd::MakeVecs<SumTag, kSide>(
        [&](auto k) HWY_ATTR { return simd::LoadFloats(d, from + k * tap.stride); });
    simd::TransposeSquare(d, v.v);
    simd::Unroll<kSide>([&](auto k) HWY_ATTR {
      const int64_t at = pixel(m + k);
      if (at < 0) return;
      float* const sum = tap.sums + at * kInterleaved + lane;
      hn::Store(hn::Add(hn::Load(d, sum), v.v[k]), d, sum);
    });
  }
}

// Adds masks [m, end). pixel(m): mask m's pixel in the band, or -1.
template <typename T, class Pixel>
HWY_INLINE void AddMasks(const Tap<T>& tap, int64_t m, int64_t end, const Pixel& pixel) {
  if constexpr (kSide > 1) {
    const int64_t last = tap.channels == kInterleaved ? end - kSide : -1;
    for (; m <= last; m += kSide) AddSquares(tap, m, pixel);
  }
  for (; m < end; ++m) {
    const int64_t at = pixel(m);
    if (at < 0) continue;
    float* const sums = tap.sums + at * kInterleaved;
    for (int64_t k = 0; k < tap.channels; ++k) sums[k] += ToFloat(tap.row[k * tap.stride + m]);
  }
}

// Adds one kernel element of masks [begin, end).
template <typename T>
HWY_INLINE void AddTap(const MaskTable& masks, const Tap<T>& tap, int64_t begin, int64_t end) {
  for (int64_t m = begin; m < end; m += kStepMasks) {
    const int64_t s = m / kStepMasks;
    const MaskStep& step = masks.steps[s];
    if (step.high + tap.shift < 0 || step.low + tap.shift >= tap.pixels) continue;
    const int64_t step_end = std::min(m + kStepMasks, end);
    if (step.inside() && step.low + tap.shift >= 0 && step.high + tap.shift < tap.pixels) {
      AddMasks(tap, m, step_end, [&](int64_t k) { return masks.corner[k] + tap.shift; });
      continue;
    }
    const int64_t first = masks.StepBegin(s);
    const uint32_t inside = masks.Inside(s, tap.i, tap.j);
    AddMasks(tap, m, step_end, [&](int64_t k) {
      const int64_t pixel = masks.corner[k] + tap.shift;
      const bool in_band = pixel >= 0 && pixel < tap.pixels;
      return (inside >> (k - first) & 1) != 0 && in_band ? pixel : -1;
    });
  }
}

template <typename T>
void SumMasks(const BackwardCall& call, const Band& band) {
  // Local copies: through references the compiler would reload after every vector store (aliasing).
  const Problem p = call.p;
  const MaskTable masks = call.masks;
  const int64_t stride = p.taps() * p.masks;
  simd::ZeroRow(band.sums, band.pixels() * kInterleaved);
  for (int64_t begin = 0; begin < p.masks; begin += kSumMasks) {
    const int64_t end = std::min<int64_t>(begin + kSumMasks, p.masks);
    const T* row = static_cast<const T*>(call.grad_col) + band.channel * stride;
    for (int64_t i = 0; i < p.kernel_h; ++i) {
      for (int64_t j = 0; j < p.kernel_w; ++j, row += p.masks) {
        const int64_t shift = i * p.width + j - band.begin;
        AddTap<T>(masks, {i, j, row, stride, band.channels, shift, band.pixels(), band.sums}, begin,
                  end);
      }
    }
  }
}

// Pixels that are transposed and rounded at once.
constexpr int64_t kChunk = 256;

// Rounds n <= kChunk sums of one channel to nearest even.
template <typename T>
HWY_INLINE void StoreSums(const float* sums, int64_t n, T* to, bool stream) {
  alignas(kAlignment) T stage[kChunk];
  T* const rounded = stream ? stage : to;
  simd::ForEach<float>(n, [&](auto d, int64_t i) HWY_ATTR {
    const auto sum = simd::CanonicalNan(d, hn::LoadU(d, sums + i));
    simd::StoreFloats(sum, d, rounded + i);
  });
  if (stream) simd::CopyRow(simd::LanesOf(stage), n, simd::LanesOf(to), true);
}

template <typename T>
void SumBand(const BackwardCall& call, const Band& band) {
  SumMasks<T>(call, band);
  alignas(kAlignment) float stage[kInterleaved * kChunk];
  const int64_t plane = call.p.plane();
  T* const out = static_cast<T*>(call.grad_feature) + band.channel * plane + band.begin;
  for (int64_t first = 0; first < band.pixels(); first += kChunk) {
    const int64_t count = std::min(kChunk, band.pixels() - first);
    simd::Transpose({band.sums + first * kInterleaved, kInterleaved}, count, kInterleaved,
                    {stage, kChunk});
    for (int64_t k = band.skip; k < band.channels; ++k) {
      StoreSums(stage + k * kChunk, count, out + k * plane + first, call.stream);
    }
  }
  if (call.stream) hwy::FlushStream();
}

}  // namespace

void BackwardBand(const BackwardCall& call, const Band& band) {
  call.half ? SumBand<Half>(call, band) : SumBand<float>(call, band);
}

}  // namespace mluop::masked_im2col::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col {
namespace {

HWY_EXPORT(BackwardBand);

// The division of a call's planes into bands.
struct BandPlan {
  int64_t blocks;  // of kInterleaved channels
  int64_t bands;   // of a plane
  int64_t pixels;  // of a band
};

// The sums of a band fit L2. Uses more bands if threads would be idle otherwise.
BandPlan PlanBands(const CpuCall<Problem>& call) {
  const int64_t plane = call.p.plane(), threads = call.context.threads().num_threads();
  BandPlan plan = {};
  plan.blocks = (call.p.channels + kInterleaved - 1) / kInterleaved;
  const int64_t max_pixels = kMaxSums / kInterleaved;
  const int64_t target_bands =
      std::max((plane + max_pixels - 1) / max_pixels, threads == 1 ? 1 : 2 * threads / plan.blocks);
  const int64_t bands = std::min(target_bands, (plane + kMinBand - 1) / kMinBand);
  plan.pixels = WholeLines((plane + bands - 1) / bands);
  plan.bands = (plane + plan.pixels - 1) / plan.pixels;
  return plan;
}

size_t BandScratch(const CpuCall<Problem>& call) {
  return call.context.PerWorkerBytes(PlanBands(call).pixels * kInterleaved) +
         MaskTableBytes(call.p, kStepMasks);
}

mluOpStatus_t RunBands(const CpuCall<Problem>& call, void* scratch) {
  const Arguments& a = call.arguments;
  const Problem& p = call.p;
  ThreadPool& threads = call.context.threads();
  const BandPlan plan = PlanBands(call);
  float* const all_sums = static_cast<float*>(scratch);
  void* const table = all_sums + threads.num_threads() * plan.pixels * kInterleaved;
  const BackwardCall b = {.p = p,
                          .masks = MakeMaskTable(p, MasksOf(a), kStepMasks, table, threads),
                          .grad_col = a.In<void>("grad_col"),
                          .grad_feature = a.Out<void>("grad_feature"),
                          .half = a.Type() == MLUOP_DTYPE_HALF,
                          .stream = ShouldStream(a.Tensor("grad_feature").ByteCount())};
  const auto kernel = HWY_DYNAMIC_DISPATCH(BackwardBand);
  const int64_t channels = std::min(p.channels, kInterleaved);
  const int64_t work = channels * (plan.pixels + p.taps() * p.masks / plan.bands);
  threads.ForEach(plan.blocks * plan.bands, kGrain / work + 1, [&](int64_t item, int worker) {
    float* const sums = all_sums + worker * plan.pixels * kInterleaved;
    const int64_t wanted = item / plan.bands * kInterleaved;
    const int64_t channel = std::min(wanted, p.channels - channels);
    const int64_t first = item % plan.bands * plan.pixels;
    kernel(b, {channel, channels, wanted - channel, first, std::min(first + plan.pixels, p.plane()),
               sums});
  });
  return MLUOP_STATUS_SUCCESS;
}

void DescribeBands(const CpuCall<Problem>& call, Plan& plan) {
  const BandPlan bands = PlanBands(call);
  plan.Add("bands %" PRId64 " of %" PRId64 " pixels", bands.bands, bands.pixels);
}

// A worker owns channels. Without masks the loop over the kernel elements is skipped.
mluOpStatus_t RunDouble(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const MaskIndices masks = MasksOf(call.arguments);
  const auto* grad_col = call.arguments.In<double>("grad_col");
  auto* grad_feature = call.arguments.Out<double>("grad_feature");
  const int64_t taps = p.masks == 0 ? 0 : p.taps();
  call.context.threads().ForEach(
      p.channels, GrainFor(taps * p.masks + p.plane()), [&](int64_t channel, int) {
        double* const plane = grad_feature + channel * p.plane();
        std::fill_n(plane, p.plane(), 0.0);
        for (int64_t tap = 0; tap < taps; ++tap) {
          const double* const row = grad_col + (channel * taps + tap) * p.masks;
          for (int64_t m = 0; m < p.masks; ++m) {
            const int64_t pixel = p.Offset(p.Top(masks.h[m]) + tap / p.kernel_w,
                                           p.Left(masks.w[m]) + tap % p.kernel_w);
            if (pixel >= 0) plane[pixel] += row[m];
          }
        }
        CanonicalizeNans(plane, p.plane());
      });
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kBackward[] = {
    {"interleaved", "always", Always, BandScratch, RunBands, DescribeBands},
    CpuImplementation<Problem>::ForDouble(RunDouble),
};

}  // namespace

constexpr CpuOperator kBackwardCpu = Bind<MakeProblem, kBackward>("masked_im2col_backward");

}  // namespace mluop::masked_im2col
#endif  // HWY_ONCE
