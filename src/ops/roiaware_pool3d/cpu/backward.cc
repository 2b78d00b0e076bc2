// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on the CPU (backward.h has the plan). Half gradients are added in float
// and rounded once.
#include <algorithm>
#include <bit>

#include "core/dtype.h"
#include "cpu/tuning.h"
#include "ops/roiaware_pool3d/cpu/backward.h"
#include "ops/roiaware_pool3d/cpu/operators.h"
#include "ops/roiaware_pool3d/problem.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/roiaware_pool3d/cpu/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/simd-inl.h"
#include "ops/roiaware_pool3d/cpu/scatter-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roiaware_pool3d {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::ForEach;
using mluop::HWY_NAMESPACE::StoreFloats;
using mluop::HWY_NAMESPACE::ZeroRow;

template <typename T>
HWY_INLINE void AddShare(const Problem& p, const BackwardTensors& tensors, const Share& share) {
  ZeroRow(share.sums, share.points * p.channels);
  if (p.method == kMaximum) {
    AddMaximum<T>(p, tensors, share);
  } else {
    AddAverage<T>(p, tensors, share);
  }
}

void AddShareFloat(const Problem& p, const BackwardTensors& tensors, const Share& share) {
  AddShare<float>(p, tensors, share);
}
void AddShareHalf(const Problem& p, const BackwardTensors& tensors, const Share& share) {
  AddShare<Half>(p, tensors, share);
}

// to[begin, end) = the elements' sums over the parts.
template <typename T>
HWY_INLINE void AddParts(const Parts& parts, int64_t begin, int64_t end, T* to) {
  ForEach<float>(end - begin, [&](auto d, int64_t k) {
    const int64_t i = begin + k;
    auto sum = hn::LoadU(d, parts.first + i);
    for (int r = 0; r < parts.rest; ++r) {
      sum = hn::Add(sum, hn::LoadU(d, parts.others + r * parts.stride + i));
    }
    StoreFloats(sum, d, to + i);
  });
}

void AddPartsFloat(const Parts& parts, int64_t begin, int64_t end, void* to) {
  AddParts(parts, begin, end, static_cast<float*>(to));
}
void AddPartsHalf(const Parts& parts, int64_t begin, int64_t end, void* to) {
  AddParts(parts, begin, end, static_cast<Half*>(to));
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::roiaware_pool3d
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roiaware_pool3d {
namespace {

HWY_EXPORT(AddShareFloat);
HWY_EXPORT(AddShareHalf);
HWY_EXPORT(AddPartsFloat);
HWY_EXPORT(AddPartsHalf);

class Backward {
 public:
  Backward(const Problem& problem, const BackwardTensors& tensors, bool half, CpuContext& context)
      : p_(problem),
        tensors_(tensors),
        half_(half),
        threads_(context.threads()),
        parts_(CountParts()),
        round_(PointsPerRound()) {
    const int64_t own = half_ ? parts_ : parts_ - 1;
    sums_ = static_cast<float*>(
        context.Scratch(static_cast<size_t>(own * round_ * p_.channels) * sizeof(float)));
  }

  void Run() {
    for (int64_t first = 0; first < p_.points; first += round_) {
      const int64_t points = std::min(round_, p_.points - first);
      Scatter(first, points);
      Reduce(first, points);
    }
  }

 private:
  int64_t CountParts() const {
    const int64_t elements = int64_t{p_.points} * p_.channels;
    const int64_t most = std::clamp<int64_t>(kMostSums / elements, 1, kMostParts);
    if (p_.voxels() * p_.channels < kGrain) return 1;
    const int64_t parts = std::clamp<int64_t>(p_.voxels() / (kVoxelsPerPoint * p_.points), 1, most);
    return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(parts)));
  }

  int64_t PointsPerRound() const {
    if (!half_) return p_.points;
    return std::clamp<int64_t>(kMostSums / p_.channels, 1, p_.points);
  }

  // The sums of a part, for the points of a round. Float gradients are their own first part.
  float* Sums(int64_t part) const {
    if (half_) return sums_ + part * round_ * p_.channels;
    return part == 0 ? static_cast<float*>(tensors_.grad_in)
                     : sums_ + (part - 1) * round_ * p_.channels;
  }

  void Scatter(int64_t first, int64_t points) {
    const auto add =
        half_ ? HWY_DYNAMIC_DISPATCH(AddShareHalf) : HWY_DYNAMIC_DISPATCH(AddShareFloat);
    const int64_t work = (p_.voxels() + points) * p_.channels;
    const int64_t splits =
        work < 2 * kGrain ? 1 : std::min((threads_.num_threads() + parts_ - 1) / parts_, points);
    threads_.For(parts_ * splits, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t part = item / splits;
        const int64_t from = item % splits * points / splits;
        const int64_t to = (item % splits + 1) * points / splits;
        add(p_, tensors_,
            {p_.voxels() * part / parts_, p_.voxels() * (part + 1) / parts_, first + from,
             to - from, Sums(part) + from * p_.channels});
      }
    });
  }

  void Reduce(int64_t first, int64_t points) {
    if (!half_ && parts_ == 1) return;
    const auto add =
        half_ ? HWY_DYNAMIC_DISPATCH(AddPartsHalf) : HWY_DYNAMIC_DISPATCH(AddPartsFloat);
    const Parts parts = {Sums(0), Sums(1), round_ * p_.channels, static_cast<int>(parts_ - 1)};
    char* to = static_cast<char*>(tensors_.grad_in) +
               first * p_.channels * static_cast<int64_t>(half_ ? sizeof(Half) : sizeof(float));
    threads_.For(points * p_.channels, kGrain,
                 [&](int64_t begin, int64_t end, int) { add(parts, begin, end, to); });
  }

  const Problem& p_;
  const BackwardTensors& tensors_;
  bool half_;
  ThreadPool& threads_;
  int64_t parts_;
  int64_t round_;  // points whose sums are there at the same time
  float* sums_ = nullptr;
};

}  // namespace

mluOpStatus_t BackwardCpu(const Arguments& arguments, CpuContext& context) {
  const Problem p = MakeProblem(arguments, arguments.Symbol("P"));
  const BackwardTensors tensors = {.indices = arguments.In<int32_t>("pts_idx_of_voxels"),
                                   .argmax = arguments.In<int32_t>("argmax"),
                                   .grad_out = arguments.In<void>("grad_out"),
                                   .grad_in = arguments.Out<void>("grad_in")};
  Backward(p, tensors, arguments.Type() == MLUOP_DTYPE_HALF, context).Run();
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::roiaware_pool3d
#endif  // HWY_ONCE
