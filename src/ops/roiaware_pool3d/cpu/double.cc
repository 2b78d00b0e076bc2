// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on the CPU, implementation "double" of forward.
#include <limits>

#include "cpu/plain_loops.h"
#include "ops/roiaware_pool3d/cpu/forward.h"
#include "ops/roiaware_pool3d/cpu/operators.h"

namespace mluop::roiaware_pool3d {
namespace {

// Lists the points of every voxel of a box, in ascending order.
void ListPoints(const Problem& p, const ForwardTensors& t, int64_t box) {
  double values[kRoiValues];
  std::copy_n(static_cast<const double*>(t.rois) + box * kRoiValues, kRoiValues, values);
  const BoxOf<double> geometry = MakeBox(p, values);
  int32_t* const slots = t.indices + box * p.box_voxels() * p.slots;
  std::fill_n(slots, p.box_voxels() * p.slots, 0);
  for (int32_t i = 0; i < p.points; ++i) {
    const double* const at = static_cast<const double*>(t.pts) + int64_t{i} * 3;
    const int voxel = geometry.VoxelOf(p, at[0], at[1], at[2]);
    if (voxel < 0) continue;
    int32_t* const row = slots + int64_t{voxel} * p.slots;
    if (row[0] < p.capacity()) row[++row[0]] = i;
  }
}

void PoolMaximum(const Problem& p, const ForwardTensors& t, const int32_t* row, int64_t first) {
  const auto* const features = static_cast<const double*>(t.features);
  auto* const pooled = static_cast<double*>(t.pooled) + first;
  for (int64_t c = 0; c < p.channels; ++c) {
    double best = -std::numeric_limits<double>::infinity();
    int32_t argmax = -1;
    for (int32_t k = 1; k <= row[0]; ++k) {
      const double value = features[int64_t{row[k]} * p.channels + c];
      if (value > best) best = value, argmax = row[k];
    }
    pooled[c] = argmax < 0 ? 0 : best;
    t.argmax[first + c] = argmax;
  }
}

void PoolAverage(const Problem& p, const ForwardTensors& t, const int32_t* row, int64_t first) {
  auto* const pooled = static_cast<double*>(t.pooled) + first;
  std::fill_n(pooled, p.channels, 0.0);
  for (int32_t k = 1; k <= row[0]; ++k) {
    const double* const feature =
        static_cast<const double*>(t.features) + int64_t{row[k]} * p.channels;
    for (int64_t c = 0; c < p.channels; ++c) pooled[c] += feature[c];
  }
  const double count = std::max(row[0], 1);
  for (int64_t c = 0; c < p.channels; ++c) pooled[c] = CanonicalNan(pooled[c] / count);
  if (t.argmax != nullptr) std::fill_n(t.argmax + first, p.channels, 0);
}

}  // namespace

mluOpStatus_t RunDoubleForward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const ForwardTensors t(call.arguments);
  const ThreadPool& threads = call.context.threads();
  threads.ForEach(p.boxes, GrainFor(p.points), [&](int64_t box, int) { ListPoints(p, t, box); });
  const auto pool = p.method == kMaximum ? PoolMaximum : PoolAverage;
  threads.ForEach(p.voxels(), GrainFor(p.channels),
                  [&](int64_t v, int) { pool(p, t, t.indices + v * p.slots, v * p.channels); });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::roiaware_pool3d
