// SPDX-License-Identifier: Apache-2.0
// psroipool on CUDA devices: the implementation tables. Most kernels are in ops/roi/cuda. Forward
// reads NCHW maps, small maps and few RoIs in place (strided.h), repacks large NHWC maps
// (repacked.cu), and stages large NCHW maps (staged_planes.h). The scaled gradient of backward is
// top_grad * (1/area), rounded before the addition.
#include "ops/psroipool/cuda/kernels.h"
#include "ops/psroipool/cuda/tuning.h"
#include "ops/roi/cuda/large_map.h"
#include "ops/roi/cuda/masked_sums.h"
#include "ops/roi/cuda/small_map.h"
#include "ops/roi/cuda/staged_planes.h"
#include "ops/roi/cuda/strided.h"

namespace mluop::psroipool {
namespace {

template <typename T>
struct Pooling {
  static constexpr int kFewLoads = 4;

  Problem p;
  TensorsOf<T> t;

  explicit Pooling(const CudaCall<Problem>& call) : p(call.p), t(call.arguments) {}

  // Keeps kLoads loads in flight: bins are small, and the latency of single loads would dominate.
  // The number does not change the order of the sum.
  template <int kLoads, typename Offset>
  static __device__ T Sum(roi::Pixels<Offset> pixels, const T* __restrict__ channel) {
    T sum = 0, part = 0;
// Not unrolled: small bins have few iterations, and larger code costs instruction fetches.
#pragma unroll 1
    for (int loaded = kLoads; pixels.any(); loaded += kLoads) {
      T values[kLoads];
      pixels.Load(channel, values);
#pragma unroll
      for (int i = 0; i < kLoads; i += kPixelGroup) {
        part += (values[i] + values[i + 1]) + (values[i + 2] + values[i + 3]);
      }
      if (loaded % kPartPixels != 0) continue;
      sum += part;
      part = 0;
    }
    return sum + part;
  }
  static __device__ T SumStaged(const T* plane, Span rows, Span columns, int width) {
    return Sum<kPixelGroup>(roi::Pixels<>(rows, columns, static_cast<unsigned>(width), 1), plane);
  }
  __device__ void WriteChannel(int64_t i, int64_t channel) const {
    t.mapping[i] = static_cast<int32_t>(channel);
  }
};

bool HasSmallImages(const CudaCall<Problem>& call) {
  return int64_t{call.p.h} * call.p.w * call.p.channels() < kSmallLimit;
}

constexpr CudaImplementation<Problem> kForward[] = {
    {"repacked", "the map has 4 MiB or more, and at most 32 pixels per RoI",
     [](const CudaCall<Problem>& call) { return CanRepack(call.p); },
     [](const CudaCall<Problem>& call) { return RepackedBytes(call.p); }, RunRepacked},
    {"strided", "an image has fewer than 2^31 elements", HasSmallImages, nullptr,
     roi::RunStrided<Pooling<float>, false, unsigned>},
    CudaImplementation<Problem>::Beyond32Bits(
        {"large", "always", Always, nullptr,
         roi::RunStrided<Pooling<float>, false, unsigned long long>}),
    CudaImplementation<Problem>::ForDouble(
        roi::RunStrided<Pooling<double>, false, unsigned long long>),
};

// The pixels of a bin are neighbours, so they need no repacking.
constexpr CudaImplementation<Problem> kNchwForward[] = {
    {"staged", roi::kStagedWhen, roi::ShouldStage<Problem>, roi::SpanTable::Bytes<Problem>,
     roi::RunStaged<Pooling<float>>},
    {"strided", "an image has fewer than 2^31 elements", HasSmallImages, nullptr,
     roi::RunStrided<Pooling<float>, true, unsigned>},
    CudaImplementation<Problem>::Beyond32Bits(
        {"large", "always", Always, nullptr,
         roi::RunStrided<Pooling<float>, true, unsigned long long>}),
    CudaImplementation<Problem>::ForDouble(
        roi::RunStrided<Pooling<double>, true, unsigned long long>),
};

struct BackwardFamily {
  static constexpr int64_t kSmallMapRois = psroipool::kSmallMapRois;
  static constexpr int kPartWords = psroipool::kPartWords;
  static constexpr bool kAddsParts = true, kHasMapping = true;

  template <typename T>
  static __device__ T Scale(T gradient, T area) {
    return gradient * (1 / area);
  }

  template <typename T>
  static roi::PooledGradients<T> Gradients(const CudaCall<Problem>& call) {
    const GradientsOf<T> t(call.arguments);
    return {t.top_grad, t.rois, t.mapping, t.bottom_grad};
  }
};

template <bool kNchw>
size_t DoubleBytes(const CudaCall<Problem>& call) {
  return roi::FitsMasks<kNchw, double>(call) ? roi::MaskBytes<double>(call)
                                             : roi::LargeMapBytes(call);
}
template <bool kNchw>
mluOpStatus_t RunDouble(const CudaCall<Problem>& call, void* scratch) {
  return roi::FitsMasks<kNchw, double>(call)
             ? roi::RunMasks<BackwardFamily, kNchw, double>(call, scratch)
             : roi::RunLargeMap<BackwardFamily, kNchw, double>(call, scratch);
}

template <bool kNchw>
constexpr CudaImplementation<Problem> kBackward[] = {
    {"small_map", "at most 1024 pixels and 512 RoIs, and few blocks",
     roi::SmallMapApplies<BackwardFamily>, roi::SmallMapBytes,
     roi::RunSmallMap<BackwardFamily, kNchw>},
    {"masks", "fewer than 2^31 blocks, and pixels of an image", roi::FitsMasks<kNchw, float>,
     roi::MaskBytes<float>, roi::RunMasks<BackwardFamily, kNchw, float>},
    CudaImplementation<Problem>::Beyond32Bits({"large", "always", Always, roi::LargeMapBytes,
                                               roi::RunLargeMap<BackwardFamily, kNchw, float>}),
    CudaImplementation<Problem>::ForDouble(RunDouble<kNchw>, DoubleBytes<kNchw>),
};

constexpr CudaOperator kForwardCuda = Bind<MakeProblem, kForward>("psroipool_forward");
constexpr CudaOperator kBackwardCuda = Bind<MakeProblem, kBackward<false>>("psroipool_backward");
constexpr CudaOperator kNchwForwardCuda = Bind<MakeProblem, kNchwForward>("psroipool_nchw_forward");
constexpr CudaOperator kNchwBackwardCuda =
    Bind<MakeProblem, kBackward<true>>("psroipool_nchw_backward");
constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda, &kNchwForwardCuda,
                                              &kNchwBackwardCuda};
constexpr DeviceGetter kGetters[] = {{"psroipool_forward_workspace", [](const Arguments& a) {
                                        const Problem p = MakeProblemWithScale(a, 1);
                                        return CanRepack(p) ? RepackedBytes(p) : 0;
                                      }}};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, kGetters};

}  // namespace mluop::psroipool
