// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on the CPU (backward.h explains the slices). Half gradients are added in
// float and rounded once.
#include "ops/roiaware_pool3d/cpu/backward.h"

#include <algorithm>
#include <bit>

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
namespace mluop::roiaware_pool3d {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::CanonicalNan;
using mluop::HWY_NAMESPACE::ForEach;
using mluop::HWY_NAMESPACE::StoreFloats;
using mluop::HWY_NAMESPACE::ZeroRow;

template <typename T>
HWY_INLINE void ScatterOf(const Problem& p, const BackwardTensors& tensors,
                          const ScatterTask& task) {
  ZeroRow(task.sums, task.points * p.channels);
  if (p.method == kMaximum) {
    AddMaximum<T>(p, tensors, task);
  } else {
    AddAverage<T>(p, tensors, task);
  }
}

void Scatter(const Problem& p, const BackwardTensors& tensors, const ScatterTask& task) {
  p.half ? ScatterOf<Half>(p, tensors, task) : ScatterOf<float>(p, tensors, task);
}

// to[begin, end) = the elements' sums over the slices.
template <typename T>
HWY_INLINE void AddSlicesTo(const SliceSums& slices, int64_t begin, int64_t end, T* to) {
  ForEach<float>(end - begin, [&](auto d, int64_t k) {
    const int64_t i = begin + k;
    auto sum = hn::LoadU(d, slices.first + i);
    for (int r = 0; r < slices.rest; ++r) {
      sum = hn::Add(sum, hn::LoadU(d, slices.others + r * slices.stride + i));
    }
    StoreFloats(CanonicalNan(d, sum), d, to + i);
  });
}

void AddSlices(const SliceSums& slices, bool half, int64_t begin, int64_t end, void* to) {
  if (half) {
    AddSlicesTo(slices, begin, end, static_cast<Half*>(to));
  } else {
    AddSlicesTo(slices, begin, end, static_cast<float*>(to));
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mluop::roiaware_pool3d
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roiaware_pool3d {
namespace {

using BackwardCall = CpuCall<Problem>;

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

// Float gradients are the sums of the first slice; half gradients need float sums for all slices,
// and are computed in rounds of points where these would be too large.
class Backward {
 public:
  explicit Backward(const BackwardCall& call)
      : p_(call.p),
        threads_(call.context.threads()),
        tensors_({.indices = call.arguments.In<int32_t>("pts_idx_of_voxels"),
                  .argmax = call.arguments.In<int32_t>("argmax"),
                  .grad_out = call.arguments.In<void>("grad_out"),
                  .grad_in = call.arguments.Out<void>("grad_in")}),
        slices_(CountSlices(p_)),
        round_(p_.half ? std::clamp<int64_t>(kMaxSums / p_.channels, 1, p_.points) : p_.points) {}

  size_t ScratchBytes() const {
    const int64_t in_scratch = p_.half ? slices_ : slices_ - 1;
    return static_cast<size_t>(in_scratch * round_ * p_.channels) * sizeof(float);
  }

  void Run(void* scratch) {
    scratch_ = static_cast<float*>(scratch);
    for (int64_t first = 0; first < p_.points; first += round_) {
      const int64_t points = std::min(round_, p_.points - first);
      ScatterSlices(first, points);
      Reduce(first, points);
    }
  }

  void Describe(Plan& plan) const {
    plan.Add("slices %lld of %lld voxels", static_cast<long long>(slices_),
             static_cast<long long>(p_.voxels() / slices_));
    plan.Add("rounds %lld of %lld points", static_cast<long long>((p_.points - 1) / round_ + 1),
             static_cast<long long>(round_));
  }

 private:
  // The sums of a slice, for the points of a round.
  float* Sums(int64_t slice) const {
    if (!p_.half && slice == 0) return static_cast<float*>(tensors_.grad_in);
    return scratch_ + (p_.half ? slice : slice - 1) * round_ * p_.channels;
  }

  void ScatterSlices(int64_t first, int64_t points) {
    const auto scatter = HWY_DYNAMIC_DISPATCH(Scatter);
    const int64_t work = (p_.voxels() + points) * p_.channels;
    const int64_t splits =
        work < 2 * kGrain ? 1 : std::min((threads_.num_threads() + slices_ - 1) / slices_, points);
    threads_.For(slices_ * splits, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t slice = item / splits;
        const int64_t from = item % splits * points / splits;
        const int64_t to = (item % splits + 1) * points / splits;
        scatter(p_, tensors_,
                {p_.voxels() * slice / slices_, p_.voxels() * (slice + 1) / slices_, first + from,
                 to - from, Sums(slice) + from * p_.channels});
      }
    });
  }

  void Reduce(int64_t first, int64_t points) {
    const auto add = HWY_DYNAMIC_DISPATCH(AddSlices);
    const SliceSums slices = {Sums(0), Sums(1), round_ * p_.channels,
                              static_cast<int>(slices_ - 1)};
    char* to = static_cast<char*>(tensors_.grad_in) +
               first * p_.channels * static_cast<int64_t>(p_.half ? sizeof(Half) : sizeof(float));
    threads_.For(points * p_.channels, kGrain,
                 [&](int64_t begin, int64_t end, int) { add(slices, p_.half, begin, end, to); });
  }

  const Problem& p_;
  ThreadPool& threads_;
  BackwardTensors tensors_;
  int64_t slices_;
  int64_t round_;  // points whose sums exist at the same time
  float* scratch_ = nullptr;
};

size_t BackwardScratch(const BackwardCall& call) { return Backward(call).ScratchBytes(); }
void DescribeBackward(const BackwardCall& call, Plan& plan) { Backward(call).Describe(plan); }
mluOpStatus_t RunBackward(const BackwardCall& call, void* scratch) {
  Backward(call).Run(scratch);
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kBackward[] = {
    {"slices", "always", Always, BackwardScratch, RunBackward, DescribeBackward}};

}  // namespace

constexpr CpuOperator kBackwardCpu =
    Bind<MakeBackwardProblem, kBackward>("roiaware_pool3d_backward");

}  // namespace mluop::roiaware_pool3d
#endif  // HWY_ONCE
