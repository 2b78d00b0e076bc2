// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on the CPU: the implementations of its operators. The sum of a bin has
// torchvision's order.
#include "cpu/plain_loops.h"
#include "ops/roi/cpu/bands.h"
#include "ops/roi/cpu/direct.h"
#include "ops/torchvision_ps_roi_pool/problem.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

using Call = CpuCall<Problem>;
using roi::Sum;

mluOpStatus_t RunPoolBands(const Call& call, void* scratch) {
  const Tensors t(call.arguments);
  roi::PoolBands(roi::FillBands<Sum::kChain>(call, scratch), t.input, t.output, nullptr);
  return MLUOP_STATUS_SUCCESS;
}

template <typename Real>
mluOpStatus_t RunDirect(const Call& call, void*) {
  roi::PoolDirect<Sum::kChain>(call, call.arguments.Out<Real>("output"), nullptr);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t RunSumBands(const Call& call, void* scratch) {
  const Gradients t(call.arguments);
  roi::SumBands(roi::FillBands<Sum::kGradients>(call, scratch), t.grad_output, t.grad_input);
  return MLUOP_STATUS_SUCCESS;
}

// Adds the gradients of RoI r to the planes [begin, end) of the map, counted through all images.
void ScatterRoi(const Problem& p, const GradientsOf<double>& t, int64_t r, int64_t begin,
                int64_t end) {
  const PlaceOf<double> place = PlaceRoi(p, t.rois + r * 5);
  if (place.image < 0) return;
  const int64_t first = place.image * p.channels();
  const int64_t last = std::min(end, first + p.channels());
  const int64_t start = std::max(begin, first);
  // The planes of an image are channels, and bin b has the channels b, b + bins, ...
  for (int64_t b = 0; b < p.bins(); ++b) {
    const Span rows = place.Rows(p, static_cast<int>(b / p.pooled_w));
    const Span columns = place.Columns(p, static_cast<int>(b % p.pooled_w));
    const auto area = static_cast<double>(int64_t{rows.size()} * columns.size());
    const int64_t skipped = std::max<int64_t>(start - first - b + p.bins() - 1, 0) / p.bins();
    for (int64_t i = first + b + skipped * p.bins(); i < last; i += p.bins()) {
      const double scaled_grad = t.grad_output[r * p.channels() + i - first] / area;
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        double* const row = t.grad_input + i * p.pixels() + y * p.w;
        for (int64_t x = columns.begin; x < columns.end; ++x) row[x] += scaled_grad;
      }
    }
  }
}

// A worker owns planes of the map and visits all RoIs in order.
mluOpStatus_t RunDoubleBackward(const Call& call, void*) {
  const Problem& p = call.p;
  const GradientsOf<double> t(call.arguments);
  const auto sum_planes = [&](int64_t begin, int64_t end, int) {
    double* const own = t.grad_input + begin * p.pixels();
    const int64_t count = (end - begin) * p.pixels();
    std::fill_n(own, count, 0.0);
    for (int64_t r = 0; r < p.rois; ++r) ScatterRoi(p, t, r, begin, end);
    CanonicalizeNans(own, count);
  };
  call.context.threads().For(p.n * p.channels(), GrainFor(p.pixels()), sum_planes);
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kForward[] = {
    {"bands", roi::kBandsWhen, roi::ShouldUseBands<Sum::kChain>, roi::BandBytes<Sum::kChain>,
     RunPoolBands, roi::DescribeBands<Sum::kChain>},
    {"direct", "always", Always, nullptr, RunDirect<float>},
    CpuImplementation<Problem>::ForDouble(RunDirect<double>),
};
constexpr CpuImplementation<Problem> kBackward[] = {
    {"bands", "always", Always, roi::BandBytes<Sum::kGradients>, RunSumBands,
     roi::DescribeBands<Sum::kGradients>},
    CpuImplementation<Problem>::ForDouble(RunDoubleBackward),
};

constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("torchvision_ps_roi_pool_forward");
constexpr CpuOperator kBackwardCpu =
    Bind<MakeProblem, kBackward>("torchvision_ps_roi_pool_backward");
constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::torchvision_ps_roi_pool
