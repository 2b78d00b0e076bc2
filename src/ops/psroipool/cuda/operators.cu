// SPDX-License-Identifier: Apache-2.0
// psroipool on CUDA devices: the implementation tables. Most kernels are in ops/roi/cuda. Forward
// reads NCHW maps, small maps and few RoIs in place (strided.h), repacks large NHWC maps
// (repacked.cu), and stages large NCHW maps (staged_planes.h). The scaled gradient of backward is
// top_grad * (1/area), rounded before the addition.
#include "ops/psroipool/cuda/kernels.h"
#include "ops/psroipool/cuda/tuning.h"
#include "ops/roi/cuda/masked_sums.h"
#include "ops/roi/cuda/small_map.h"
#include "ops/roi/cuda/staged_planes.h"
#include "ops/roi/cuda/strided.h"

namespace mluop::psroipool {
namespace {

template <typename T>
struct Pooling {
  Problem p;
  TensorsOf<T> t;

  explicit Pooling(const CudaCall<Problem>& call) : p(call.p), t(call.arguments) {}

  template <typename Offset>
  static __device__ T Sum(const roi::Pixels<Offset>& pixels, const T* __restrict__ channel) {
    return SumBin<8>(pixels, channel);
  }
  static __device__ T SumStaged(const T* plane, Span rows, Span columns, int width) {
    return SumBin<kPixelGroup>(roi::Pixels<>(rows, columns, static_cast<unsigned>(width), 1),
                               plane);
  }
  __device__ void WriteChannel(int64_t i, int64_t channel) const {
    t.mapping[i] = static_cast<int32_t>(channel);
  }
};

bool HasSmallImages(const CudaCall<Problem>& call) {
  return int64_t{call.p.h} * call.p.w * call.p.channels() < kSmallLimit;
}

using Entry = CudaImplementation<Problem>;
// The pixels of a bin are neighbours in NCHW, so they need no repacking.
template <bool kNchw>
constexpr Entry kLargeMap =
    kNchw ? Entry{"staged", roi::kStagedWhen, roi::ShouldStage<Problem>,
                  roi::SpanTable::Bytes<Problem>, roi::RunStaged<Pooling<float>>}
          : Entry{"repacked", "the map has 4 MiB or more, and at most 32 pixels per RoI",
                  [](const CudaCall<Problem>& call) { return CanRepack(call.p); },
                  [](const CudaCall<Problem>& call) { return RepackedBytes(call.p); }, RunRepacked};
template <bool kNchw>
constexpr Entry kForward[] = {
    kLargeMap<kNchw>,
    {"strided", "an image has fewer than 2^31 elements", HasSmallImages, nullptr,
     roi::RunStrided<Pooling<float>, kNchw, unsigned>},
    Entry::Beyond32Bits({"large", "always", Always, nullptr,
                         roi::RunStrided<Pooling<float>, kNchw, unsigned long long>}),
    Entry::ForDouble(roi::RunStrided<Pooling<double>, kNchw, unsigned long long>),
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
  return roi::FitsMasks<kNchw, double>(call) ? roi::MaskBytes<double>(call) : 0;
}
template <bool kNchw>
mluOpStatus_t RunDouble(const CudaCall<Problem>& call, void* scratch) {
  return roi::FitsMasks<kNchw, double>(call)
             ? roi::RunMasks<BackwardFamily, kNchw, double>(call, scratch)
             : roi::RunAnyMapping<BackwardFamily, kNchw, double>(call, nullptr);
}

template <bool kNchw>
constexpr Entry kBackward[] = {
    {"small_map", "at most 1024 pixels and 512 RoIs, and few blocks",
     roi::SmallMapApplies<BackwardFamily>, roi::SmallMapBytes,
     roi::RunSmallMap<BackwardFamily, kNchw>},
    {"masks", "fewer than 2^31 blocks, and pixels of an image", roi::FitsMasks<kNchw, float>,
     roi::MaskBytes<float>, roi::RunMasks<BackwardFamily, kNchw, float>},
    Entry::Beyond32Bits(Entry::Exclusive({"large", "masks does not apply", Always, nullptr,
                                          roi::RunAnyMapping<BackwardFamily, kNchw, float>})),
    Entry::ForDouble(RunDouble<kNchw>, DoubleBytes<kNchw>),
};

constexpr CudaOperator kForwardCuda = Bind<MakeProblem, kForward<false>>("psroipool_forward");
constexpr CudaOperator kBackwardCuda = Bind<MakeProblem, kBackward<false>>("psroipool_backward");
constexpr CudaOperator kNchwForwardCuda =
    Bind<MakeProblem, kForward<true>>("psroipool_nchw_forward");
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
