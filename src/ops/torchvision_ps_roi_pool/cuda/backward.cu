// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool backward on CUDA devices: the implementation table. The kernels are in
// ops/roi/cuda, for NCHW maps. RoIs are added in ascending order.
#include "ops/roi/cuda/masked_sums.h"
#include "ops/roi/cuda/small_map.h"
#include "ops/torchvision_ps_roi_pool/cuda/kernels.h"
#include "ops/torchvision_ps_roi_pool/cuda/tuning.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

struct BackwardFamily {
  static constexpr int64_t kSmallMapRois = torchvision_ps_roi_pool::kSmallMapRois;
  static constexpr int kPartWords = 32;
  static constexpr bool kAddsParts = false, kHasMapping = false;

  template <typename T>
  static __device__ T Scale(T gradient, T area) {
    return gradient / area;
  }

  template <typename T>
  static roi::PooledGradients<T> Gradients(const CudaCall<Problem>& call) {
    const GradientsOf<T> t(call.arguments);
    return {t.grad_output, t.rois, nullptr, t.grad_input};
  }
};

constexpr CudaImplementation<Problem> kBackward[] = {
    {"small_map", "at most 1024 pixels and 1024 RoIs, and few blocks",
     roi::SmallMapApplies<BackwardFamily>, nullptr, roi::RunSmallMap<BackwardFamily, true>},
    {"masks", "tensors have fewer than 2^31 elements", IsSmall, roi::MaskBytes<float>,
     roi::RunMasks<BackwardFamily, true, float>},
    CudaImplementation<Problem>::ForDouble(roi::RunMasks<BackwardFamily, true, double>,
                                           roi::MaskBytes<double>),
};

}  // namespace

constexpr CudaOperator kBackwardCuda =
    Bind<MakeProblem, kBackward>("torchvision_ps_roi_pool_backward");

}  // namespace mluop::torchvision_ps_roi_pool
