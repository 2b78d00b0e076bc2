// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on the CPU, implementation "double".
#include "cpu/plain_loops.h"
#include "ops/roiaware_pool3d/cpu/operators.h"

namespace mluop::roiaware_pool3d {
namespace {

struct Tensors {
  const double* rois;
  const double* pts;
  const double* features;
  int32_t* argmax;   // NULL if absent
  int32_t* indices;  // pts_idx_of_voxels
  double* pooled;

  explicit Tensors(const Arguments& a)
      : rois(a.In<double>("rois")),
        pts(a.In<double>("pts")),
        features(a.In<double>("pts_feature")),
        argmax(a.Out<int32_t>("argmax")),
        indices(a.Out<int32_t>("pts_idx_of_voxels")),
        pooled(a.Out<double>("pooled_features")) {}
};

// Lists the points of every voxel of a box, in ascending order.
void ListPoints(const Problem& p, const Tensors& t, int64_t box) {
  double values[kRoiValues];
  std::copy_n(t.rois + box * kRoiValues, kRoiValues, values);
  const BoxOf<double> geometry = MakeBox(p, values);
  int32_t* const slots = t.indices + box * p.box_voxels() * p.slots;
  std::fill_n(slots, p.box_voxels() * p.slots, 0);
  for (int32_t i = 0; i < p.points; ++i) {
    const double* const at = t.pts + int64_t{i} * 3;
    const int voxel = geometry.VoxelOf(p, at[0], at[1], at[2]);
    if (voxel < 0) continue;
    int32_t* const row = slots + int64_t{voxel} * p.slots;
    if (row[0] < p.capacity()) row[++row[0]] = i;
  }
}

void PoolMaximum(const Problem& p, const Tensors& t, const int32_t* row, int64_t first) {
  for (int64_t c = 0; c < p.channels; ++c) {
    double best = -std::numeric_limits<double>::infinity();
    int32_t argmax = -1;
    for (int32_t k = 1; k <= row[0]; ++k) {
      const double value = t.features[int64_t{row[k]} * p.channels + c];
      if (value > best) best = value, argmax = row[k];
    }
    t.pooled[first + c] = argmax < 0 ? 0 : best;
    t.argmax[first + c] = argmax;
  }
}

void PoolAverage(const Problem& p, const Tensors& t, const int32_t* row, int64_t first) {
  double* const pooled = t.pooled + first;
  std::fill_n(pooled, p.channels, 0.0);
  for (int32_t k = 1; k <= row[0]; ++k) {
    const double* const feature = t.features + int64_t{row[k]} * p.channels;
    for (int64_t c = 0; c < p.channels; ++c) pooled[c] += feature[c];
  }
  const double count = std::max(row[0], 1);
  for (int64_t c = 0; c < p.channels; ++c) pooled[c] = CanonicalNan(pooled[c] / count);
  if (t.argmax != nullptr) std::fill_n(t.argmax + first, p.channels, 0);
}

// Of one call of backward; `sums` is grad_in.
struct Gradients {
  const int32_t* indices;
  const int32_t* argmax;
  const double* grad_out;
  double* sums;

  explicit Gradients(const Arguments& a)
      : indices(a.In<int32_t>("pts_idx_of_voxels")),
        argmax(a.In<int32_t>("argmax")),
        grad_out(a.In<double>("grad_out")),
        sums(a.Out<double>("grad_in")) {}
};

// Adds the gradients of one voxel in the channels [begin, end).
void ScatterMaximum(const Problem& p, const Gradients& t, int64_t voxel, int64_t begin,
                    int64_t end) {
  for (int64_t c = begin; c < end; ++c) {
    const int64_t point = t.argmax[voxel * p.channels + c];
    if (point < 0 || point >= p.points) continue;
    t.sums[point * p.channels + c] += t.grad_out[voxel * p.channels + c];
  }
}

void ScatterAverage(const Problem& p, const Gradients& t, int64_t voxel, int64_t begin,
                    int64_t end) {
  const int32_t* const row = t.indices + voxel * p.slots;
  const int count = p.Stored(row[0]);
  for (int k = 1; k <= count; ++k) {
    const int64_t point = row[k];
    if (point < 0 || point >= p.points) continue;
    for (int64_t c = begin; c < end; ++c) {
      t.sums[point * p.channels + c] += t.grad_out[voxel * p.channels + c] / count;
    }
  }
}

}  // namespace

mluOpStatus_t RunDoubleForward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const Tensors t(call.arguments);
  const ThreadPool& threads = call.context.threads();
  threads.ForEach(p.boxes, GrainFor(p.points), [&](int64_t box, int) { ListPoints(p, t, box); });
  const auto pool = p.method == kMaximum ? PoolMaximum : PoolAverage;
  threads.ForEach(p.voxels(), GrainFor(p.channels),
                  [&](int64_t v, int) { pool(p, t, t.indices + v * p.slots, v * p.channels); });
  return MLUOP_STATUS_SUCCESS;
}

// A worker owns channels and visits all voxels in order.
mluOpStatus_t RunDoubleBackward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const Gradients t(call.arguments);
  const auto scatter = p.method == kMaximum ? ScatterMaximum : ScatterAverage;
  call.context.threads().For(p.channels, GrainFor(p.voxels()),
                             [&](int64_t begin, int64_t end, int) {
                               for (int64_t point = 0; point < p.points; ++point) {
                                 std::fill_n(t.sums + point * p.channels + begin, end - begin, 0.0);
                               }
                               for (int64_t v = 0; v < p.voxels(); ++v)
                                 scatter(p, t, v, begin, end);
                               for (int64_t point = 0; point < p.points; ++point) {
                                 CanonicalizeNans(t.sums + point * p.channels + begin, end - begin);
                               }
                             });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::roiaware_pool3d
