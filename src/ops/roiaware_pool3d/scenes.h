// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d: inputs of the test cases: boxes and points of a scene, or indices as forward writes
// them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "testing/case.h"
#include "testing/element.h"

namespace mluop::roiaware_pool3d {

using testing::Case;
using testing::LoadValue;
using testing::Option;
using testing::Random;

// The first of each is the default.
constexpr std::string_view kForwardScenes[] = {"sparse", "dense", "overfull",
                                               "edge",   "utm",   "one_voxel"};
constexpr std::string_view kBackwardScenes[] = {"sparse", "dense", "same_points"};
constexpr std::string_view kIndices[] = {"valid", "wild"};
constexpr Option kForwardOptions[] = {{"scene", kForwardScenes}};
constexpr Option kBackwardOptions[] = {{"scene", kBackwardScenes}, {"indices", kIndices}};

inline void StoreValue(const Arguments& a, std::string_view tensor, int64_t index, double value) {
  testing::StoreValue(value, a.Type(), a.Out<void>(tensor), index);
}

// Boxes and points of a forward case.
class Scene {
 public:
  Scene(const Arguments& arguments, Random& random)
      : a_(arguments),
        random_(random),
        boxes_(a_.Int("boxes_num")),
        points_(a_.Int("pts_num")),
        voxels_(int64_t{a_.Int("out_x")} * a_.Int("out_y") * a_.Int("out_z")) {}

  // Eight proposals around each car. A fifth of the voxels have points on the cars; the other points
  // are anywhere.
  void MakeSparse() {
    const int64_t cars = (boxes_ + 7) / 8;
    const double near = 0.34 * static_cast<double>(voxels_ * cars) / static_cast<double>(points_);
    const uint64_t seed = random_.Bits();
    for (int64_t box = 0; box < boxes_; ++box) {
      const Car car = CarAt(seed, box / 8);
      SetRoi(box, {car.x + Jitter(0.3), car.y + Jitter(0.3), car.z + Jitter(0.1), 3.9 + Jitter(0.4),
                   1.6 + Jitter(0.2), 1.5 + Jitter(0.2), car.heading + Jitter(0.1)});
    }
    for (int64_t point = 0; point < points_; ++point) {
      const Car car = CarAt(seed, random_.Below(cars));
      const double scale = random_.Uniform(0, 1) < near ? 1 : 40;
      const double along = scale * Jitter(2.1), across = scale * Jitter(0.9);
      const double c = std::cos(car.heading), s = std::sin(car.heading);
      SetPoint(point, car.x + along * c - across * s, car.y + along * s + across * c,
               car.z + random_.Uniform(-0.1, 1.7));
    }
  }

  // The sparse scene in UTM coordinates: x and y are metres from a distant origin.
  void MakeUtm() {
    MakeSparse();
    constexpr double kEast = 500000.3, kNorth = 4649776.7;
    for (int64_t box = 0; box < boxes_; ++box) {
      StoreValue(a_, "rois", box * 7, Roi(box, 0) + kEast);
      StoreValue(a_, "rois", box * 7 + 1, Roi(box, 1) + kNorth);
    }
    for (int64_t point = 0; point < points_; ++point) {
      const auto at = [&](int64_t i) {
        return LoadValue(a_.In<void>("pts"), a_.Type(), point * 3 + i);
      };
      SetPoint(point, at(0) + kEast, at(1) + kNorth, at(2));
    }
  }

  // Every box holds nearly all points; the density is highest in the middle.
  void MakeDense() {
    for (int64_t box = 0; box < boxes_; ++box) {
      SetRoi(box, {Jitter(0.2), Jitter(0.2), -2 + Jitter(0.2), 8, 8, 4, Jitter(4)});
    }
    for (int64_t point = 0; point < points_; ++point) {
      SetPoint(point, Jitter(2) + Jitter(2), Jitter(2) + Jitter(2), Jitter(1) + Jitter(1));
    }
  }

  // Half of the points lie in three spots, so that voxels have more points than slots.
  void MakeOverfull() {
    MakeDense();
    for (int64_t point = 0; point < points_; point += 2) {
      const auto spot = static_cast<double>(random_.Below(3));
      SetPoint(point, spot + Jitter(0.01), -spot + Jitter(0.01), 0.5 * spot + Jitter(0.01));
    }
  }

  // The boxes of the sparse scene. All points lie in one voxel of the first car.
  void MakeOneVoxel() {
    MakeSparse();
    for (int64_t point = 0; point < points_; ++point) {
      SetPoint(point, Roi(0, 0) + 0.2 + Jitter(0.01), Roi(0, 1) + 0.1 + Jitter(0.01),
               Roi(0, 2) + 0.5 + Jitter(0.01));
    }
  }

  // Points on faces, edges and voxel borders of boxes that are rotated by multiples of 90 degrees,
  // flat or empty; non-finite coordinates and boxes. In double no box is rotated. Rounding errors,
  // which the reference does not share, would decide whether a point on a face of a rotated box is
  // inside.
  void MakeEdges() {
    static constexpr double kTurns[] = {0, M_PI_2, M_PI, -M_PI_2, -M_PI, 3 * M_PI_2, 0.5};
    static constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL,
                                          -HUGE_VAL, 1e30, 0};
    const int64_t turns = a_.Type() == MLUOP_DTYPE_DOUBLE ? 1 : std::ssize(kTurns);
    for (int64_t box = 0; box < boxes_; ++box) {
      double roi[] = {Grid(4), Grid(4), Grid(2), 4, 2, 3, kTurns[random_.Below(turns)]};
      if (random_.Below(6) == 0) roi[3 + random_.Below(3)] = 0;
      if (random_.Below(12) == 0) roi[random_.Below(7)] = kSpecial[random_.Below(5)];
      if (random_.Below(12) == 0) roi[3 + random_.Below(3)] *= -1;
      SetRoi(box, roi);
    }
    for (int64_t point = 0; point < points_; ++point) {
      const int64_t box = random_.Below(boxes_);
      const double along = Border("out_x") - 0.5, across = Border("out_y") - 0.5;
      const double turn = Roi(box, 6), c = std::cos(turn), s = std::sin(turn);
      const double x = along * Roi(box, 3), y = across * Roi(box, 4);
      double at[] = {Roi(box, 0) + x * c - y * s, Roi(box, 1) + x * s + y * c,
                     Roi(box, 2) + Border("out_z") * Roi(box, 5)};
      if (random_.Below(20) == 0) at[random_.Below(3)] = kSpecial[random_.Below(5)];
      SetPoint(point, at[0], at[1], at[2]);
    }
  }

 private:
  struct Car {
    double x, y, z, heading;
  };

  double Jitter(double most) { return random_.Uniform(-most, most); }
  double Grid(int64_t n) { return static_cast<double>(random_.Below(2 * n + 1) - n) / 2; }
  // A border between two voxels along an axis, or a face, as a fraction of the box.
  double Border(std::string_view axis) {
    const int n = a_.Int(axis);
    return static_cast<double>(random_.Below(n + 1)) / n;
  }

  static Car CarAt(uint64_t seed, int64_t car) {
    Random random(seed + static_cast<uint64_t>(car) * 977);
    return {random.Uniform(0, 70), random.Uniform(-40, 40), random.Uniform(-2, -1),
            random.Uniform(-M_PI, M_PI)};
  }

  double Roi(int64_t box, int value) const {
    return LoadValue(a_.In<void>("rois"), a_.Type(), box * 7 + value);
  }
  void SetRoi(int64_t box, const double (&roi)[7]) {
    for (int i = 0; i < 7; ++i) StoreValue(a_, "rois", box * 7 + i, roi[i]);
  }
  void SetPoint(int64_t point, double x, double y, double z) {
    int64_t i = point * 3;
    for (const double value : {x, y, z}) StoreValue(a_, "pts", i++, value);
  }

  const Arguments& a_;
  Random& random_;
  int64_t boxes_, points_, voxels_;
};

inline void GenerateForward(const Case& test_case, const Arguments& a, Random& random) {
  Scene scene(a, random);
  const std::string& name = test_case.Option("scene");
  if (name == "sparse") scene.MakeSparse();
  if (name == "dense") scene.MakeDense();
  if (name == "overfull") scene.MakeOverfull();
  if (name == "edge") scene.MakeEdges();
  if (name == "utm") scene.MakeUtm();
  if (name == "one_voxel") scene.MakeOneVoxel();
  if (a.Int("pool_method") == 1) testing::ClampFinite(a, "pts_feature", 1000);
}

// Indices of a backward case.
class VoxelIndices {
 public:
  VoxelIndices(const Case& test_case, const Arguments& arguments, Random& random)
      : a_(arguments),
        random_(random),
        dense_(test_case.Option("scene") == "dense"),
        same_points_(test_case.Option("scene") == "same_points"),
        wild_(test_case.Option("indices") == "wild"),
        slots_(a_.Int("max_pts_each_voxel")),
        channels_(a_.Int("channels")),
        points_(a_.Symbol("P")) {}

  // Makes one voxel: slots [count, points in ascending order, 0...] and a point per channel.
  void Make(int32_t* slots, int32_t* argmax) {
    const int64_t count = Count();
    std::fill_n(slots, slots_, 0);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t low = k * points_ / count, high = (k + 1) * points_ / count;
      const int64_t point = low + random_.Below(high - low);
      slots[k + 1] = static_cast<int32_t>(same_points_ ? k : point);
    }
    slots[0] = static_cast<int32_t>(count);
    const bool maximum = a_.Int("pool_method") == 0;
    const bool holes = random_.Below(64) == 0;  // some channels are NaN in every point
    for (int64_t c = 0; c < channels_; ++c) {
      const bool none = count == 0 || (holes && random_.Below(4) == 0);
      argmax[c] = !maximum ? 0 : none ? -1 : slots[1 + random_.Below(count)];
    }
    if (wild_) MakeInvalid(slots, argmax);
  }

 private:
  // Sparse: a fifth of the voxels have points, mostly one. Same points: the same, but all voxels have
  // the first points. Dense: any number of points.
  int64_t Count() {
    const int64_t most = std::min(slots_ - 1, points_);
    if (dense_) return random_.Below(most + 1);
    if (random_.Below(5) != 0) return 0;
    int64_t count = 1;
    while (random_.Below(4) == 0) ++count;
    return std::min(count, most);
  }

  void MakeInvalid(int32_t* slots, int32_t* argmax) {
    const auto points = static_cast<int32_t>(points_), most = static_cast<int32_t>(slots_);
    const int32_t counts[] = {-1, -1000, INT32_MIN, most - 1, most, most + 3, INT32_MAX};
    const int32_t indices[] = {-1, -2, INT32_MIN, points, points + 1, INT32_MAX, points - 1};
    if (random_.Below(3) == 0) slots[0] = counts[random_.Below(7)];
    for (int64_t k = 1; k < slots_; ++k) {
      if (random_.Below(3) == 0) slots[k] = indices[random_.Below(7)];
    }
    for (int64_t c = 0; c < channels_; ++c) {
      if (random_.Below(3) == 0) argmax[c] = indices[random_.Below(7)];
    }
  }

  const Arguments& a_;
  Random& random_;
  bool dense_, same_points_, wild_;
  int64_t slots_, channels_, points_;
};

inline void GenerateBackward(const Case& test_case, const Arguments& a, Random& random) {
  VoxelIndices voxels(test_case, a, random);
  auto* slots = a.Out<int32_t>("pts_idx_of_voxels");
  auto* argmax = a.Out<int32_t>("argmax");
  const int64_t channels = a.Int("channels");
  const int64_t count = a.Tensor("grad_out").desc->ElementCount() / channels;
  std::vector<int32_t> ignored(static_cast<size_t>(channels));  // replaces an absent argmax
  for (int64_t voxel = 0; voxel < count; ++voxel) {
    voxels.Make(slots + voxel * a.Int("max_pts_each_voxel"),
                argmax == nullptr ? ignored.data() : argmax + voxel * channels);
  }
  testing::ClampFinite(a, "grad_out", 1000);
}

}  // namespace mluop::roiaware_pool3d
