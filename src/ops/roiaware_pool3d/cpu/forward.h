// SPDX-License-Identifier: Apache-2.0
// Work division and scratch of roiaware_pool3d forward on the CPU.
//
// Boxes are processed in batches. First the points inside each box of a batch are found, chunk by
// chunk of the points, and listed with their voxels in ascending order. Then every range of voxels
// takes its points from the lists of its box, in order, and writes its outputs. Both steps also
// parallelise a single box. The results do not depend on the division.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/arguments.h"
#include "core/dtype.h"
#include "cpu/scratch.h"
#include "cpu/tuning.h"
#include "ops/roiaware_pool3d/cpu/tuning.h"

namespace mluop::roiaware_pool3d {

// One array per coordinate, padded to whole vectors with NaN, which is outside every box.
struct Coordinates {
  float* x;
  float* y;
  float* z;
};

// The points of a chunk that are inside a box, and their voxels in the box.
struct PointList {
  int32_t* voxel;
  int32_t* point;
  int32_t* count;
};

struct ForwardScratch {
  ForwardScratch(int64_t boxes, int64_t points, void* memory)
      : padded((points + kMaxLanes - 1) / kMaxLanes * kMaxLanes),
        chunks((points + kChunkPoints - 1) / kChunkPoints),
        batch(std::clamp<int64_t>(kMaxEntries / padded, 1, boxes)),
        arrays(memory),
        coordinates{arrays.Take<float>(padded), arrays.Take<float>(padded),
                    arrays.Take<float>(padded)},
        voxels(arrays.Take<int32_t>(batch * padded)),
        list_points(arrays.Take<int32_t>(batch * padded)),
        counts(arrays.Take<int32_t>(batch * chunks)) {}

  // `box` counts from the first box of the batch.
  PointList List(int64_t box, int64_t chunk) const {
    const int64_t first = box * padded + chunk * kChunkPoints;
    return {voxels + first, list_points + first, counts + box * chunks + chunk};
  }

  const int64_t padded;  // points, in whole vectors
  const int64_t chunks;
  const int64_t batch;  // boxes whose lists exist at the same time
  ScratchArrays arrays;
  const Coordinates coordinates;
  int32_t* const voxels;       // [batch, padded]
  int32_t* const list_points;  // [batch, padded]
  int32_t* const counts;       // [batch, chunks]
};

struct ForwardTensors {
  const void* rois;
  const void* pts;
  const void* features;
  int32_t* argmax;  // NULL if absent
  int32_t* indices;
  void* pooled;
  size_t element_bytes;  // of rois, pts, features and pooled
  bool stream;           // non-temporal stores

  explicit ForwardTensors(const Arguments& a)
      : rois(a.In<void>("rois")),
        pts(a.In<void>("pts")),
        features(a.In<void>("pts_feature")),
        argmax(a.Out<int32_t>("argmax")),
        indices(a.Out<int32_t>("pts_idx_of_voxels")),
        pooled(a.Out<void>("pooled_features")),
        element_bytes(SizeOf(a.Type())),
        stream(ShouldStream(a.Tensor("pts_idx_of_voxels").ByteCount() +
                            2 * a.Tensor("pooled_features").ByteCount())) {}
};

// The voxels [begin, end) of a box.
struct VoxelRange {
  int64_t box;
  int64_t in_batch;  // the same box, counted from the first of its batch
  int64_t begin;
  int64_t end;
};

}  // namespace mluop::roiaware_pool3d
