// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d forward on the CPU. Every output element is written once, by the block that owns
// it (forward.h has the plan).
#include <algorithm>
#include <limits>

#include "core/dtype.h"
#include "cpu/tuning.h"
#include "ops/roiaware_pool3d/cpu/forward.h"
#include "ops/roiaware_pool3d/cpu/operators.h"
#include "ops/roiaware_pool3d/problem.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/roiaware_pool3d/cpu/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/simd-inl.h"
#include "ops/roiaware_pool3d/cpu/pool-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roiaware_pool3d {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::ForEach;
using mluop::HWY_NAMESPACE::LoadFloats;

// pts: [points, 3]. Writes the coordinates of the points [begin, end), begin a multiple of kLanes,
// and pads the last vector.
template <typename T>
HWY_INLINE void Separate(const T* pts, int64_t begin, int64_t end, const Coordinates& to) {
  constexpr PointTag d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float triples[3 * kLanes];
  for (int64_t i = begin; i < end; i += step) {
    const int64_t points = std::min(step, end - i);
    std::fill(triples + 3 * points, triples + 3 * step, std::numeric_limits<float>::quiet_NaN());
    ForEach<float>(3 * points, [&](auto tag, int64_t k) {
      hn::StoreU(LoadFloats(tag, pts + 3 * i + k), tag, triples + k);
    });
    hn::Vec<PointTag> x, y, z;
    hn::LoadInterleaved3(d, triples, x, y, z);
    hn::StoreU(x, d, to.x + i);
    hn::StoreU(y, d, to.y + i);
    hn::StoreU(z, d, to.z + i);
  }
}

void SeparateFloat(const void* pts, int64_t begin, int64_t end, const Coordinates& to) {
  Separate(static_cast<const float*>(pts), begin, end, to);
}
void SeparateHalf(const void* pts, int64_t begin, int64_t end, const Coordinates& to) {
  Separate(static_cast<const Half*>(pts), begin, end, to);
}

// The cell of t in [0, n), as problem.h defines it. A float cannot hold every n-1: hence two
// clamps.
HWY_INLINE hn::Vec<CellTag> Cell(hn::Vec<PointTag> t, int n) {
  constexpr PointTag d;
  constexpr CellTag di;
  const auto positive = hn::IfThenElseZero(hn::Gt(t, hn::Zero(d)), t);
  const auto cell = hn::ConvertTo(di, hn::Min(positive, hn::Set(d, kLargestCell)));
  return hn::Min(cell, hn::Set(di, n - 1));
}

// Lists the points [begin, end) that are inside the box. A list has room for all of them, so that a
// whole vector may be stored at its end.
void FindInside(const Problem& p, const Box& box, const Coordinates& at, int64_t begin, int64_t end,
                const Found& found) {
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

void PoolBlockFloat(const Problem& p, const ForwardTensors& tensors, const ForwardScratch& scratch,
                    const Block& block) {
  PoolBlock<float>(p, tensors, scratch, block);
}
void PoolBlockHalf(const Problem& p, const ForwardTensors& tensors, const ForwardScratch& scratch,
                   const Block& block) {
  PoolBlock<Half>(p, tensors, scratch, block);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::roiaware_pool3d
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roiaware_pool3d {
namespace {

HWY_EXPORT(SeparateFloat);
HWY_EXPORT(SeparateHalf);
HWY_EXPORT(FindInside);
HWY_EXPORT(PoolBlockFloat);
HWY_EXPORT(PoolBlockHalf);

Box BoxAt(const Problem& p, const ForwardTensors& tensors, bool half, int64_t box) {
  float roi[kRoiValues];
  for (int i = 0; i < kRoiValues; ++i) {
    const int64_t at = box * kRoiValues + i;
    roi[i] = half ? ToFloat(static_cast<const Half*>(tensors.rois)[at])
                  : static_cast<const float*>(tensors.rois)[at];
  }
  return MakeBox(p, roi);
}

class Forward {
 public:
  Forward(const Problem& problem, const ForwardTensors& tensors, bool half, CpuContext& context)
      : p_(problem),
        tensors_(tensors),
        half_(half),
        threads_(context.threads()),
        scratch_(problem.boxes, problem.points) {
    scratch_.Use(context.Scratch(scratch_.Bytes()));
  }

  void Run() {
    SeparateCoordinates();
    for (int64_t first = 0; first < p_.boxes; first += scratch_.group()) {
      const int64_t boxes = std::min<int64_t>(scratch_.group(), p_.boxes - first);
      FindPoints(first, boxes);
      Pool(first, boxes);
    }
  }

 private:
  void SeparateCoordinates() {
    const auto separate =
        half_ ? HWY_DYNAMIC_DISPATCH(SeparateHalf) : HWY_DYNAMIC_DISPATCH(SeparateFloat);
    threads_.For(scratch_.chunks(), kTestGrain / kChunk, [&](int64_t begin, int64_t end, int) {
      separate(tensors_.pts, begin * kChunk, std::min<int64_t>(end * kChunk, p_.points),
               scratch_.coordinates());
    });
  }

  void FindPoints(int64_t first, int64_t boxes) {
    const auto find = HWY_DYNAMIC_DISPATCH(FindInside);
    const int64_t cost = std::min<int64_t>(kChunk, p_.points) + kBoxCost;
    threads_.For(boxes * scratch_.chunks(), kTestGrain / cost + 1,
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t item = begin; item < end; ++item) {
                     const int64_t box = item / scratch_.chunks();
                     const int64_t chunk = item % scratch_.chunks();
                     find(p_, BoxAt(p_, tensors_, half_, first + box), scratch_.coordinates(),
                          chunk * kChunk, std::min<int64_t>((chunk + 1) * kChunk, p_.points),
                          scratch_.List(box, chunk));
                   }
                 });
  }

  void Pool(int64_t first, int64_t boxes) {
    const auto pool =
        half_ ? HWY_DYNAMIC_DISPATCH(PoolBlockHalf) : HWY_DYNAMIC_DISPATCH(PoolBlockFloat);
    const int64_t size = BlockSize(boxes);
    const int64_t blocks = (p_.box_voxels() + size - 1) / size;
    threads_.For(boxes * blocks, kOutputGrain / (size * VoxelElements()) + 1,
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t item = begin; item < end; ++item) {
                     const int64_t box = item / blocks;
                     const int64_t voxel = item % blocks * size;
                     pool(p_, tensors_, scratch_,
                          {first + box, box, voxel, std::min(voxel + size, p_.box_voxels())});
                   }
                 });
  }

  int64_t VoxelElements() const { return int64_t{p_.slots} + 2 * int64_t{p_.channels}; }

  // One block a box, if that is not too large; where boxes are few, smaller ones, for every thread
  // to have some.
  int64_t BlockSize(int64_t boxes) const {
    const int64_t wanted = 4 * int64_t{threads_.num_threads()};
    const int64_t share = p_.box_voxels() * boxes / wanted + 1;
    const int64_t worth = kOutputGrain / VoxelElements() + 1;
    return std::min({std::max(share, worth), p_.box_voxels(), kMostVoxels});
  }

  const Problem& p_;
  const ForwardTensors& tensors_;
  bool half_;
  ThreadPool& threads_;
  ForwardScratch scratch_;
};

}  // namespace

size_t ForwardScratchBytes(int64_t boxes, int64_t points) {
  return ForwardScratch(boxes, points).Bytes();
}

mluOpStatus_t ForwardCpu(const Arguments& arguments, CpuContext& context) {
  const Problem p = MakeProblem(arguments, arguments.Int("pts_num"));
  const TensorArgument& indices = arguments.Tensor("pts_idx_of_voxels");
  const TensorArgument& pooled = arguments.Tensor("pooled_features");
  const ForwardTensors tensors = {
      .rois = arguments.In<void>("rois"),
      .pts = arguments.In<void>("pts"),
      .features = arguments.In<void>("pts_feature"),
      .argmax = arguments.Out<int32_t>("argmax"),
      .indices = arguments.Out<int32_t>("pts_idx_of_voxels"),
      .pooled = arguments.Out<void>("pooled_features"),
      .stream = indices.ByteCount() + 2 * pooled.ByteCount() >= kStreamBytes};
  Forward(p, tensors, arguments.Type() == MLUOP_DTYPE_HALF, context).Run();
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::roiaware_pool3d
#endif  // HWY_ONCE
