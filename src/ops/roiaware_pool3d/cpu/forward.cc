// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d forward on the CPU (forward.h explains the division). Every output element is
// written once.
#include "ops/roiaware_pool3d/cpu/forward.h"

#include <algorithm>
#include <cinttypes>
#include <limits>

#include "core/dtype.h"
#include "ops/roiaware_pool3d/cpu/operators.h"
#include "ops/roiaware_pool3d/problem.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/roiaware_pool3d/cpu/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/roiaware_pool3d/cpu/pool-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roiaware_pool3d::HWY_NAMESPACE {
namespace {

// The cell of t in [0, n), as problem.h defines it. Two clamps: a float cannot hold every n-1.
HWY_INLINE hn::Vec<CellTag> Cell(hn::Vec<PointTag> t, int n) {
  constexpr PointTag d;
  constexpr CellTag di;
  const auto positive = hn::IfThenElseZero(hn::Gt(t, hn::Zero(d)), t);
  const auto cell = hn::ConvertTo(di, hn::Min(positive, hn::Set(d, kLargestCell)));
  return hn::Min(cell, hn::Set(di, n - 1));
}

// Lists the points [begin, end) that are inside the box. The list can hold all of them, so a whole
// vector may be stored at its end.
void FindInside(const Problem& p, const Box& box, const Coordinates& at, int64_t begin, int64_t end,
                const PointList& found) {
  constexpr PointTag d;
  constexpr CellTag di;
  const auto set = [](float value) { return hn::Set(PointTag(), value); };
  int64_t count = 0;
  for (int64_t i = begin; i < end; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto x = hn::Sub(hn::LoadU(d, at.x + i), set(box.cx));
    const auto y = hn::Sub(hn::LoadU(d, at.y + i), set(box.cy));
    const auto z = hn::LoadU(d, at.z + i);
    const auto lx = hn::Sub(hn::Mul(x, set(box.cosine)), hn::Mul(y, set(box.sine)));
    const auto ly = hn::Add(hn::Mul(x, set(box.sine)), hn::Mul(y, set(box.cosine)));
    const auto inside = hn::And(
        hn::Le(hn::Abs(hn::Sub(z, set(box.middle_z))), set(box.half_z)),
        hn::And(hn::Lt(hn::Abs(lx), set(box.half_x)), hn::Lt(hn::Abs(ly), set(box.half_y))));
    if (hn::AllFalse(d, inside)) continue;
    const auto ix = Cell(hn::Div(hn::Add(lx, set(box.half_x)), set(box.cell_x)), p.out_x);
    const auto iy = Cell(hn::Div(hn::Add(ly, set(box.half_y)), set(box.cell_y)), p.out_y);
    const auto iz = Cell(hn::Div(hn::Sub(z, set(box.cz)), set(box.cell_z)), p.out_z);
    const auto column = hn::Add(hn::Mul(ix, hn::Set(di, p.out_y)), iy);
    const auto voxel = hn::Add(hn::Mul(column, hn::Set(di, p.out_z)), iz);
    const auto mask = hn::RebindMask(di, inside);
    hn::CompressStore(voxel, mask, di, found.voxel + count);
    const auto point = hn::Iota(di, static_cast<int32_t>(i));
    count += static_cast<int64_t>(hn::CompressStore(point, mask, di, found.point + count));
  }
  *found.count = static_cast<int32_t>(count);
}

void PoolRange(const Problem& p, const ForwardTensors& tensors, const ForwardScratch& scratch,
               const VoxelRange& range) {
  switch (tensors.element_bytes) {
    case 2: return PoolVoxels<Half, float>(p, tensors, scratch, range);
    case 4: return PoolVoxels<float, float>(p, tensors, scratch, range);
    default: return PoolVoxels<double, double>(p, tensors, scratch, range);
  }
}

}  // namespace
}  // namespace mluop::roiaware_pool3d::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roiaware_pool3d {
namespace {

HWY_EXPORT(FindInside);
HWY_EXPORT(PoolRange);

// Writes the coordinates of the points [begin, end) of pts, [points, 3], into one array each.
template <typename T>
void SplitCoordinates(const void* pts, int64_t begin, int64_t end, const Coordinates& to) {
  const T* from = static_cast<const T*>(pts);
  for (int64_t i = begin; i < end; ++i) {
    to.x[i] = ToFloat(from[3 * i]);
    to.y[i] = ToFloat(from[3 * i + 1]);
    to.z[i] = ToFloat(from[3 * i + 2]);
  }
}

// FindInside in calls of type double, point by point.
void FindInsideDouble(const Problem& p, const ForwardTensors& tensors, int64_t box, int64_t begin,
                      int64_t end, const PointList& found) {
  const auto* const rois = static_cast<const double*>(tensors.rois);
  const BoxOf<double> geometry = MakeBox(p, rois + box * kRoiValues);
  int32_t count = 0;
  for (int64_t i = begin; i < end; ++i) {
    const double* const at = static_cast<const double*>(tensors.pts) + 3 * i;
    const int voxel = geometry.VoxelOf(p, at[0], at[1], at[2]);
    if (voxel < 0) continue;
    found.voxel[count] = voxel;
    found.point[count++] = static_cast<int32_t>(i);
  }
  *found.count = count;
}

class Forward {
 public:
  Forward(const CpuCall<Problem>& call, void* scratch)
      : p_(call.p),
        threads_(call.context.threads()),
        tensors_(call.arguments),
        scratch_(p_.boxes, p_.points, scratch) {}

  size_t bytes() const { return scratch_.arrays.bytes(); }

  void Run() {
    if (!is_double()) SplitPoints();
    for (int64_t first = 0; first < p_.boxes; first += scratch_.batch) {
      const int64_t boxes = std::min<int64_t>(scratch_.batch, p_.boxes - first);
      FindPoints(first, boxes);
      Pool(first, boxes);
    }
  }

  void Describe(Plan& plan) const {
    const int64_t boxes = scratch_.batch;
    plan.Add("batches of %" PRId64 " boxes", boxes);
    plan.Add("ranges of %" PRId64 " voxels", RangeSize(boxes));
    plan.Add("non-temporal stores %s", tensors_.stream ? "yes" : "no");
  }

 private:
  bool is_double() const { return tensors_.element_bytes == sizeof(double); }

  void SplitPoints() {
    const auto split = p_.half ? SplitCoordinates<Half> : SplitCoordinates<float>;
    const Coordinates& to = scratch_.coordinates;
    threads_.For(p_.points, kTestGrain,
                 [&](int64_t begin, int64_t end, int) { split(tensors_.pts, begin, end, to); });
    for (float* axis : {to.x, to.y, to.z}) {
      std::fill(axis + p_.points, axis + scratch_.padded, std::numeric_limits<float>::quiet_NaN());
    }
  }

  Box BoxAt(int64_t box) const {
    float roi[kRoiValues];
    for (int i = 0; i < kRoiValues; ++i) {
      const int64_t at = box * kRoiValues + i;
      roi[i] = p_.half ? ToFloat(static_cast<const Half*>(tensors_.rois)[at])
                       : static_cast<const float*>(tensors_.rois)[at];
    }
    return MakeBox(p_, roi);
  }

  void FindPoints(int64_t first, int64_t boxes) {
    const auto find = HWY_DYNAMIC_DISPATCH(FindInside);
    const int64_t cost = std::min<int64_t>(kChunkPoints, p_.points) + kBoxCost;
    threads_.ForEach(boxes * scratch_.chunks, kTestGrain / cost + 1, [&](int64_t item, int) {
      const int64_t box = item / scratch_.chunks;
      const int64_t chunk = item % scratch_.chunks;
      const int64_t begin = chunk * kChunkPoints;
      const int64_t end = std::min<int64_t>(begin + kChunkPoints, p_.points);
      const PointList list = scratch_.List(box, chunk);
      is_double() ? FindInsideDouble(p_, tensors_, first + box, begin, end, list)
                  : find(p_, BoxAt(first + box), scratch_.coordinates, begin, end, list);
    });
  }

  void Pool(int64_t first, int64_t boxes) {
    const auto pool = HWY_DYNAMIC_DISPATCH(PoolRange);
    const int64_t size = RangeSize(boxes);
    const int64_t ranges = (p_.box_voxels() + size - 1) / size;
    threads_.ForEach(boxes * ranges, kOutputGrain / (size * VoxelElements()) + 1,
                     [&](int64_t item, int) {
                       const int64_t box = item / ranges;
                       const int64_t voxel = item % ranges * size;
                       pool(p_, tensors_, scratch_,
                            {first + box, box, voxel, std::min(voxel + size, p_.box_voxels())});
                     });
  }

  int64_t VoxelElements() const { return int64_t{p_.slots} + 2 * int64_t{p_.channels}; }

  // One range per box, if that is not too large. With few boxes the ranges are smaller, so that
  // every thread has four.
  int64_t RangeSize(int64_t boxes) const {
    const int64_t wanted = 4 * int64_t{threads_.num_threads()};
    const int64_t per_thread = p_.box_voxels() * boxes / wanted + 1;
    const int64_t min_size = kOutputGrain / VoxelElements() + 1;
    return std::min({std::max(per_thread, min_size), p_.box_voxels(), kMaxRangeVoxels});
  }

  const Problem& p_;
  ThreadPool& threads_;
  ForwardTensors tensors_;
  ForwardScratch scratch_;
};

constexpr CpuImplementation<Problem> kForward[] = {
    {"lists", "always", Always, ObjectBytes<Forward>, RunObject<Forward>, DescribeObject<Forward>},
    CpuImplementation<Problem>::ForDouble(RunObject<Forward>, ObjectBytes<Forward>),
};

}  // namespace

size_t ForwardScratchBytes(int64_t boxes, int64_t points) {
  return ForwardScratch(boxes, points, nullptr).arrays.bytes();
}

constexpr CpuOperator kForwardCpu = Bind<MakeForwardProblem, kForward>("roiaware_pool3d_forward");

}  // namespace mluop::roiaware_pool3d
#endif  // HWY_ONCE
