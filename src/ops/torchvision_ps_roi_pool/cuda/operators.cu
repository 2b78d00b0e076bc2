// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on CUDA devices: the implementation tables of both directions, for NCHW
// maps. The kernels are in ops/roi/cuda. The order of a sum is torchvision's, so one thread owns a
// sum. Forward reads small maps in place (strided.h), large ones through shared memory
// (staged_planes.h). Backward adds RoIs in ascending order.
#include "ops/roi/cuda/masked_sums.h"
#include "ops/roi/cuda/small_map.h"
#include "ops/roi/cuda/staged_planes.h"
#include "ops/roi/cuda/strided.h"
#include "ops/torchvision_ps_roi_pool/problem.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

template <typename T>
struct Pooling {
  Problem p;
  TensorsOf<T> t;

  explicit Pooling(const CudaCall<Problem>& call) : p(call.p), t(call.arguments) {}

  // Adds in the order of the pixels, kLoads loads in flight: bins are small, and latency would
  // dominate.
  template <typename Offset>
  static __device__ T Sum(roi::Pixels<Offset> pixels, const T* __restrict__ plane) {
    constexpr int kLoads = 8;
    T sum = 0;
    while (pixels.any()) {
      T values[kLoads];
      pixels.Load(plane, values);
#pragma unroll
      for (const T value : values) sum += value;
    }
    return sum;
  }
  static __device__ T SumStaged(const T* plane, Span rows, Span columns, int width) {
    T sum = 0;
    const T* row = plane + rows.begin * width + columns.begin;
    for (int h = rows.size(); h > 0; --h, row += width) {
      for (int w = 0; w < columns.size(); ++w) sum += row[w];
    }
    return sum;
  }
  __device__ void WriteChannel(int64_t, int64_t) const {}
};

template <typename Offset, typename T = float>
mluOpStatus_t RunDirect(const CudaCall<Problem>& call, void*) {
  if (call.p.map_elements() > 0) return roi::RunStrided<Pooling<T>, true, Offset>(call, nullptr);
  const TensorArgument& output = call.arguments.Tensor("output");
  call.context.Zero(output.data, output.ByteCount());
  return call.context.status();
}

using Entry = CudaImplementation<Problem>;
constexpr Entry kForward[] = {
    {"staged", roi::kStagedWhen, roi::ShouldStage<Problem>, roi::SpanTable::Bytes<Problem>,
     roi::RunStaged<Pooling<float>>},
    Entry::Limited(
        {"direct", "tensors have fewer than 2^31 elements", IsSmall, nullptr, RunDirect<unsigned>}),
    Entry::ForDouble(RunDirect<unsigned long long, double>),
};

struct BackwardFamily {
  // The most RoIs of small_map; they fit into shared memory. 0.37x the time of masks on 392x14x14 with
  // 320 RoIs, 0.45x on 189x14x14 with 493 RoIs (NVIDIA H200).
  static constexpr int64_t kSmallMapRois = 1024;
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

constexpr Entry kBackward[] = {
    {"small_map", "at most 1024 pixels and 1024 RoIs, and few blocks",
     roi::SmallMapApplies<BackwardFamily>, nullptr, roi::RunSmallMap<BackwardFamily, true>},
    Entry::Limited({"masks", "tensors have fewer than 2^31 elements", IsSmall,
                    roi::MaskBytes<float>, roi::RunMasks<BackwardFamily, true, float>}),
    Entry::ForDouble(roi::RunMasks<BackwardFamily, true, double>, roi::MaskBytes<double>),
};

constexpr CudaOperator kForwardCuda =
    Bind<MakeProblem, kForward>("torchvision_ps_roi_pool_forward");
constexpr CudaOperator kBackwardCuda =
    Bind<MakeProblem, kBackward>("torchvision_ps_roi_pool_backward");
constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::torchvision_ps_roi_pool
