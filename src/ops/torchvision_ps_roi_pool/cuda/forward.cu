// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool forward on CUDA devices. The order of a sum is torchvision's, so one
// thread owns a sum. Small maps are read in place (strided.h), large ones through shared memory
// (staged_planes.h).
#include "ops/roi/cuda/staged_planes.h"
#include "ops/roi/cuda/strided.h"
#include "ops/torchvision_ps_roi_pool/cuda/kernels.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

template <typename T>
struct Pooling {
  static constexpr int kFewLoads = 8;

  Problem p;
  TensorsOf<T> t;

  explicit Pooling(const CudaCall<Problem>& call) : p(call.p), t(call.arguments) {}

  // Adds in the order of the pixels, kLoads loads in flight: bins are small, and latency would
  // dominate.
  template <int kLoads, typename Offset>
  static __device__ T Sum(roi::Pixels<Offset> pixels, const T* __restrict__ plane) {
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

constexpr CudaImplementation<Problem> kForward[] = {
    {"staged", roi::kStagedWhen, roi::ShouldStage<Problem>, roi::SpanTable::Bytes<Problem>,
     roi::RunStaged<Pooling<float>>},
    {"direct", "tensors have fewer than 2^31 elements", IsSmall, nullptr, RunDirect<unsigned>},
    CudaImplementation<Problem>::ForDouble(RunDirect<unsigned long long, double>),
};

}  // namespace

constexpr CudaOperator kForwardCuda =
    Bind<MakeProblem, kForward>("torchvision_ps_roi_pool_forward");

}  // namespace mluop::torchvision_ps_roi_pool
