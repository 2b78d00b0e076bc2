// SPDX-License-Identifier: Apache-2.0
// psroipool forward on CUDA devices: the implementation tables. NCHW maps, small maps and few RoIs
// are read in place (strided.h), large NHWC maps are repacked (repacked.cu), large NCHW maps are
// staged (staged_planes.h).
#include "ops/psroipool/cuda/kernels.h"
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
    {"large", "always", Always, nullptr,
     roi::RunStrided<Pooling<float>, false, unsigned long long>},
    CudaImplementation<Problem>::ForDouble(
        roi::RunStrided<Pooling<double>, false, unsigned long long>),
};

// The pixels of a bin are neighbours, so they need no repacking.
constexpr CudaImplementation<Problem> kNchwForward[] = {
    {"staged", roi::kStagedWhen, roi::ShouldStage<Problem>, roi::SpanTable::Bytes<Problem>,
     roi::RunStaged<Pooling<float>>},
    {"strided", "an image has fewer than 2^31 elements", HasSmallImages, nullptr,
     roi::RunStrided<Pooling<float>, true, unsigned>},
    {"large", "always", Always, nullptr, roi::RunStrided<Pooling<float>, true, unsigned long long>},
    CudaImplementation<Problem>::ForDouble(
        roi::RunStrided<Pooling<double>, true, unsigned long long>),
};

}  // namespace

constexpr CudaOperator kForwardCuda = Bind<MakeProblem, kForward>("psroipool_forward");
constexpr CudaOperator kNchwForwardCuda = Bind<MakeProblem, kNchwForward>("psroipool_nchw_forward");

}  // namespace mluop::psroipool
