// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d forward on the CPU: how the work is cut, and its scratch.
//
// Boxes go in groups. For the boxes of a group the points inside are found, chunk by chunk of the
// points, and listed with their voxels in ascending order; then every block of voxels takes what is
// its own out of its box's lists, in order, and writes its part of the outputs. Both steps are
// parallel also where there is one box, and what they write does not depend on how they are cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/scratch.h"
#include "ops/roiaware_pool3d/cpu/tuning.h"

namespace mluop::roiaware_pool3d {

// One array for each coordinate, padded with NaN, which is outside of every box, to whole vectors.
struct Coordinates {
  float* x;
  float* y;
  float* z;
};

// The points of a chunk that are inside a box, and their voxels in the box.
struct Found {
  int32_t* voxel;
  int32_t* point;
  int32_t* count;
};

class ForwardScratch {
 public:
  ForwardScratch(int64_t boxes, int64_t points)
      : padded_((points + kLanes - 1) / kLanes * kLanes),
        chunks_((points + kChunk - 1) / kChunk),
        group_(std::clamp<int64_t>(kEntries / padded_, 1, boxes)) {}

  int64_t chunks() const { return chunks_; }
  int64_t group() const { return group_; }  // boxes whose lists are there at the same time

  size_t Bytes() const {
    const int64_t words = 3 * padded_ + 2 * group_ * padded_ + group_ * chunks_;
    return static_cast<size_t>(words) * sizeof(float);
  }
  void Use(void* memory) {
    auto* floats = static_cast<float*>(memory);
    coordinates_ = {floats, floats + padded_, floats + 2 * padded_};
    voxels_ = reinterpret_cast<int32_t*>(floats + 3 * padded_);
    points_ = voxels_ + group_ * padded_;
    counts_ = points_ + group_ * padded_;
  }

  const Coordinates& coordinates() const { return coordinates_; }
  // `box` counts from the first of the group.
  Found List(int64_t box, int64_t chunk) const {
    const int64_t first = box * padded_ + chunk * kChunk;
    return {voxels_ + first, points_ + first, counts_ + box * chunks_ + chunk};
  }

 private:
  int64_t padded_;
  int64_t chunks_;
  int64_t group_;
  Coordinates coordinates_ = {};
  int32_t* voxels_ = nullptr;  // [group, padded]
  int32_t* points_ = nullptr;  // [group, padded]
  int32_t* counts_ = nullptr;  // [group, chunks]
};

struct ForwardTensors {
  const void* rois;
  const void* pts;
  const void* features;
  int32_t* argmax;  // NULL where the caller wants none
  int32_t* indices;
  void* pooled;
  bool stream;
};

// Voxels [begin, end) of a box.
struct Block {
  int64_t box;       // of all
  int64_t in_group;  // the same box, counted from the first of its group
  int64_t begin;
  int64_t end;
};

}  // namespace mluop::roiaware_pool3d
