// SPDX-License-Identifier: Apache-2.0
// psroipool on NCHW tensors on the CPU, and the test of a mapping. Sums have the order of NHWC.
#include <atomic>
#include <cstring>

#include "cpu/transpose.h"
#include "ops/psroipool/cpu/operators.h"
#include "ops/roi/cpu/bands.h"
#include "ops/roi/cpu/direct.h"

namespace mluop::psroipool {

bool RoisHaveOneMapping(const Problem& p, const int32_t* mapping, ThreadPool& threads) {
  std::atomic<bool> same = true;
  threads.For(p.rois, 4 * kGrain / p.channels() + 1, [&](int64_t begin, int64_t end, int) {
    const size_t bytes = sizeof(int32_t) * static_cast<size_t>(p.channels());
    for (int64_t r = begin; r < end; ++r) {
      if (std::memcmp(mapping, mapping + r * p.channels(), bytes) != 0) same = false;
    }
  });
  return same;
}

namespace {

using Call = CpuCall<Problem>;
using roi::Sum;

mluOpStatus_t RunPoolBands(const Call& call, void* scratch) {
  const Tensors t(call.arguments);
  roi::PoolBands(roi::FillBands<Sum::kNested>(call, scratch), t.input, t.output, t.mapping);
  return MLUOP_STATUS_SUCCESS;
}

template <typename Real>
mluOpStatus_t RunDirect(const Call& call, void*) {
  const TensorsOf<Real> t(call.arguments);
  roi::PoolDirect<Sum::kNested>(call, t.output, t.mapping);
  return MLUOP_STATUS_SUCCESS;
}

// Returns true if element i of every RoI has channel i, as forward gives it.
bool HasForwardMapping(const Call& call) {
  const int32_t* mapping = call.arguments.In<int32_t>("mapping_channel");
  for (int64_t i = 0; i < call.p.channels(); ++i) {
    if (mapping[i] != i) return false;
  }
  return RoisHaveOneMapping(call.p, mapping, call.context.threads());
}

mluOpStatus_t RunSumBands(const Call& call, void* scratch) {
  const Gradients t(call.arguments);
  roi::SumBands(roi::FillBands<Sum::kGradients>(call, scratch), t.top_grad, t.bottom_grad);
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kForward[] = {
    {"bands", roi::kBandsWhen, roi::ShouldUseBands<Sum::kNested>, roi::BandBytes<Sum::kNested>,
     RunPoolBands, roi::DescribeBands<Sum::kNested>},
    {"direct", "always", Always, nullptr, RunDirect<float>},
    CpuImplementation<Problem>::ForDouble(RunDirect<double>),
};

constexpr auto& kFallback = kTransposed<Problem, CpuContext, kBackwardCpu>;
constexpr CpuImplementation<Problem> kBackward[] = {
    {"bands", "forward's mapping", HasForwardMapping, roi::BandBytes<Sum::kGradients>, RunSumBands,
     roi::DescribeBands<Sum::kGradients>},
    kFallback[0],
    kFallback[1],
};

}  // namespace

constexpr CpuOperator kNchwForwardCpu = Bind<MakeProblem, kForward>("psroipool_nchw_forward");
constexpr CpuOperator kNchwBackwardCpu = Bind<MakeProblem, kBackward>("psroipool_nchw_backward");

}  // namespace mluop::psroipool
