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

// Writes kDirectChannels planes of one bin of an image, from channel `first` on: the gradients of all
// RoIs, added in ascending order.
void SumPlanes(const Problem& p, const GradientsOf<double>& t, int64_t image, int64_t bin,
               int64_t first) {
  const int64_t end = std::min(first + roi::kDirectChannels, p.output_dim);
  const auto plane = [&](int64_t c) { return t.grad_input + p.Plane(image, c, bin); };
  for (int64_t c = first; c < end; ++c) std::fill_n(plane(c), p.pixels(), 0.0);
  for (int64_t r = 0; r < p.rois; ++r) {
    const PlaceOf<double> place = PlaceRoi(p, t.rois + r * 5);
    if (place.image != image) continue;
    const roi::BinBox box = {place.Rows(p, static_cast<int>(bin / p.pooled_w)),
                             place.Columns(p, static_cast<int>(bin % p.pooled_w))};
    const auto area = static_cast<double>(box.area());
    for (int64_t c = first; c < end; ++c) {
      const double scaled_grad = t.grad_output[r * p.channels() + c * p.bins() + bin] / area;
      for (int64_t y = box.rows.begin; y < box.rows.end; ++y) {
        double* const row = plane(c) + y * p.w;
        for (int64_t x = box.columns.begin; x < box.columns.end; ++x) row[x] += scaled_grad;
      }
    }
  }
  for (int64_t c = first; c < end; ++c) CanonicalizeNans(plane(c), p.pixels());
}

mluOpStatus_t RunDoubleBackward(const Call& call, void*) {
  const Problem& p = call.p;
  const GradientsOf<double> t(call.arguments);
  const int64_t blocks = (p.output_dim + roi::kDirectChannels - 1) / roi::kDirectChannels;
  const int64_t grain = GrainFor(p.pixels() * roi::kDirectChannels);
  call.context.threads().ForEach(p.n * p.bins() * blocks, grain, [&](int64_t i, int) {
    SumPlanes(p, t, i / blocks / p.bins(), i / blocks % p.bins(),
              i % blocks * roi::kDirectChannels);
  });
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
