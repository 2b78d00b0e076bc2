// SPDX-License-Identifier: Apache-2.0
// psroipool backward on CUDA devices: the implementation tables. The kernels are in
// ops/roi/cuda. The scaled gradient is top_grad * (1/area), rounded before the addition.
#include "cuda/transpose.h"
#include "ops/psroipool/cuda/kernels.h"
#include "ops/psroipool/cuda/tuning.h"
#include "ops/roi/cuda/large_map.h"
#include "ops/roi/cuda/masked_sums.h"
#include "ops/roi/cuda/small_map.h"

namespace mluop::psroipool {
namespace {

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

size_t DoubleBytes(const CudaCall<Problem>& call) {
  return roi::FitsMasks<false, double>(call) ? roi::MaskBytes<double>(call)
                                             : roi::LargeMapBytes(call);
}
mluOpStatus_t RunDouble(const CudaCall<Problem>& call, void* scratch) {
  return roi::FitsMasks<false, double>(call)
             ? roi::RunMasks<BackwardFamily, false, double>(call, scratch)
             : roi::RunLargeMap<BackwardFamily, false, double>(call, scratch);
}

template <bool kNchw>
constexpr CudaImplementation<Problem> kSmallMap = {
    "small_map", "at most 1024 pixels and 512 RoIs, and few blocks",
    roi::SmallMapApplies<BackwardFamily>, roi::SmallMapBytes,
    roi::RunSmallMap<BackwardFamily, kNchw>};
template <bool kNchw>
constexpr CudaImplementation<Problem> kMasks = {
    "masks", "fewer than 2^31 blocks, and pixels of an image", roi::FitsMasks<kNchw, float>,
    roi::MaskBytes<float>, roi::RunMasks<BackwardFamily, kNchw, float>};
template <bool kNchw>
constexpr CudaImplementation<Problem> kLarge = {"large", "always", Always, roi::LargeMapBytes,
                                                roi::RunLargeMap<BackwardFamily, kNchw, float>};

constexpr CudaImplementation<Problem> kBackward[] = {
    kSmallMap<false>, kMasks<false>, kLarge<false>,
    CudaImplementation<Problem>::ForDouble(RunDouble, DoubleBytes)};
constexpr CudaImplementation<Problem> kNchwBackward[] = {
    kSmallMap<true>, kMasks<true>, kLarge<true>,
    CudaImplementation<Problem>::ForDouble(RunOnNhwcCopies<kBackwardCuda>, NhwcCopyBytes)};

}  // namespace

constexpr CudaOperator kBackwardCuda = Bind<MakeProblem, kBackward>("psroipool_backward");
constexpr CudaOperator kNchwBackwardCuda =
    Bind<MakeProblem, kNchwBackward>("psroipool_nchw_backward");

}  // namespace mluop::psroipool
