// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on the CPU (backward.h explains the slices). Half gradients are added in
// float and rounded once.
#include "ops/roiaware_pool3d/cpu/backward.h"

#include <algorithm>
#include <bit>
#include <cinttypes>

#include "core/dtype.h"
#include "cpu/tuning.h"
#include "ops/roiaware_pool3d/cpu/operators.h"
#include "ops/roiaware_pool3d/cpu/tuning.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/roiaware_pool3d/cpu/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/simd-inl.h"
#include "ops/roiaware_pool3d/cpu/scatter-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roiaware_pool3d::HWY_NAMESPACE {
namespace {

template <typename T, typename Real>
HWY_INLINE void ScatterOf(const Problem& p, const BackwardTensors& tensors,
                          const ScatterTask<void>& task) {
  const ScatterTask<Real> typed = {task.begin, task.end, task.first_point, task.points,
                                   static_cast<Real*>(task.sums)};
  simd::ZeroRow(typed.sums, task.points * p.channels);
  p.method == kMaximum ? AddMaximum<T>(p, tensors, typed) : AddAverage<T>(p, tensors, typed);
}

void Scatter(const Problem& p, const BackwardTensors& tensors, const ScatterTask<void>& task) {
  switch (tensors.element_bytes) {
    case 2: return ScatterOf<Half, float>(p, tensors, task);
    case 4: return ScatterOf<float, float>(p, tensors, task);
    default: return ScatterOf<double, double>(p, tensors, task);
  }
}

// Writes the elements [begin, end): their sums over the slices.
template <typename T, typename Real>
HWY_INLINE void AddSlicesOf(const SliceSums& from, int64_t begin, int64_t end) {
  simd::ForEach<Real>(end - begin, [&](auto d, int64_t k) {
    const Real* first = static_cast<const Real*>(from.sums) + begin + k;
    auto sum = hn::LoadU(d, first);
    for (int64_t slice = 1; slice < from.slices; ++slice) {
      sum = hn::Add(sum, hn::LoadU(d, first + slice * from.stride));
    }
    simd::StoreFloats(simd::CanonicalNan(d, sum), d, static_cast<T*>(from.grad_in) + begin + k);
  });
}

void AddSlices(const SliceSums& from, size_t element_bytes, int64_t begin, int64_t end) {
  switch (element_bytes) {
    case 2: return AddSlicesOf<Half, float>(from, begin, end);
    case 4: return AddSlicesOf<float, float>(from, begin, end);
    default: return AddSlicesOf<double, double>(from, begin, end);
  }
}

}  // namespace
}  // namespace mluop::roiaware_pool3d::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roiaware_pool3d {
namespace {

HWY_EXPORT(Scatter);
HWY_EXPORT(AddSlices);

int64_t CountSlices(const Problem& p) {
  if (p.voxels() * p.channels < kGrain) return 1;
  const int64_t elements = int64_t{p.points} * p.channels;
  const int64_t max_slices = std::clamp<int64_t>(kMaxSums / elements, 1, kMaxSlices);
  const int64_t slices =
      std::clamp<int64_t>(p.voxels() / (kVoxelsPerPoint * p.points), 1, max_slices);
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(slices)));
}

// All slices have float sums in scratch. They are computed in rounds of points if the sums of all
// points are too large.
class Backward {
 public:
  Backward(const CpuCall<Problem>& call, void* scratch)
      : p_(call.p),
        threads_(call.context.threads()),
        tensors_({.indices = call.arguments.In<int32_t>("pts_idx_of_voxels"),
                  .argmax = call.arguments.In<int32_t>("argmax"),
                  .grad_out = call.arguments.In<void>("grad_out"),
                  .element_bytes = SizeOf(call.arguments.Type())}),
        grad_in_(call.arguments.Out<char>("grad_in")),
        sum_bytes_(tensors_.element_bytes == 8 ? 8 : sizeof(float)),
        slices_(CountSlices(p_)),
        round_(std::clamp<int64_t>(kMaxSums / p_.channels, 1, p_.points)),
        sums_(static_cast<char*>(scratch)) {}

  size_t bytes() const { return static_cast<size_t>(slices_ * round_ * p_.channels * sum_bytes_); }

  void Run() {
    const auto add = HWY_DYNAMIC_DISPATCH(AddSlices);
    for (int64_t first = 0; first < p_.points; first += round_) {
      const int64_t points = std::min(round_, p_.points - first);
      ScatterSlices(first, points);
      const size_t offset = static_cast<size_t>(first * p_.channels) * tensors_.element_bytes;
      const SliceSums from = {sums_, slices_, round_ * p_.channels, grad_in_ + offset};
      threads_.For(points * p_.channels, kGrain, [&](int64_t begin, int64_t end, int) {
        add(from, tensors_.element_bytes, begin, end);
      });
    }
  }

  void Describe(Plan& plan) const {
    plan.Add("slices %" PRId64 " of %" PRId64 " voxels", slices_, p_.voxels() / slices_);
    plan.Add("rounds of %" PRId64 " points", round_);
  }

 private:
  // Sums the voxels of each slice for the points [first, first + points).
  void ScatterSlices(int64_t first, int64_t points) {
    const auto scatter = HWY_DYNAMIC_DISPATCH(Scatter);
    const int64_t work = (p_.voxels() + points) * p_.channels;
    const int64_t splits =
        work < 2 * kGrain ? 1 : std::min((threads_.num_threads() + slices_ - 1) / slices_, points);
    threads_.ForEach(slices_ * splits, 1, [&](int64_t item, int) {
      const int64_t slice = item / splits;
      const int64_t from = item % splits * points / splits;
      const int64_t to = (item % splits + 1) * points / splits;
      scatter(p_, tensors_,
              {p_.voxels() * slice / slices_, p_.voxels() * (slice + 1) / slices_, first + from,
               to - from, sums_ + (slice * round_ + from) * p_.channels * sum_bytes_});
    });
  }

  const Problem& p_;
  ThreadPool& threads_;
  BackwardTensors tensors_;
  char* grad_in_;
  int64_t sum_bytes_;  // of one sum
  int64_t slices_;
  int64_t round_;  // points whose sums exist at the same time
  char* sums_;     // [slices, round, channels]
};

constexpr CpuImplementation<Problem> kBackward[] = {
    {"slices", "always", Always, ObjectBytes<Backward>, RunObject<Backward>,
     DescribeObject<Backward>},
    CpuImplementation<Problem>::ForDouble(RunObject<Backward>, ObjectBytes<Backward>),
};

}  // namespace

constexpr CpuOperator kBackwardCpu =
    Bind<MakeBackwardProblem, kBackward>("roiaware_pool3d_backward");

}  // namespace mluop::roiaware_pool3d
#endif  // HWY_ONCE
