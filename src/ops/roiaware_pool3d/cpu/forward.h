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

class ForwardScratch {
 public:
  ForwardScratch(int64_t boxes, int64_t points, void* memory)
      : padded_((points + kMaxLanes - 1) / kMaxLanes * kMaxLanes),
        chunks_((points + kChunkPoints - 1) / kChunkPoints),
        batch_(std::clamp<int64_t>(kMaxEntries / padded_, 1, boxes)),
        arrays_(memory),
        coordinates_{arrays_.Take<float>(padded_), arrays_.Take<float>(padded_),
                     arrays_.Take<float>(padded_)},
        voxels_(arrays_.Take<int32_t>(batch_ * padded_)),
        list_points_(arrays_.Take<int32_t>(batch_ * padded_)),
        counts_(arrays_.Take<int32_t>(batch_ * chunks_)) {}

  int64_t chunks() const { return chunks_; }
  int64_t batch() const { return batch_; }  // boxes whose lists exist at the same time

  int64_t padded() const { return padded_; }  // points, in whole vectors
  size_t bytes() const { return arrays_.bytes(); }
  const Coordinates& coordinates() const { return coordinates_; }
  // `box` counts from the first box of the batch.
  PointList List(int64_t box, int64_t chunk) const {
    const int64_t first = box * padded_ + chunk * kChunkPoints;
    return {voxels_ + first, list_points_ + first, counts_ + box * chunks_ + chunk};
  }

 private:
  int64_t padded_;
  int64_t chunks_;
  int64_t batch_;
  ScratchArrays arrays_;
  Coordinates coordinates_;
  int32_t* voxels_;       // [batch, padded]
  int32_t* list_points_;  // [batch, padded]
  int32_t* counts_;       // [batch, chunks]
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
