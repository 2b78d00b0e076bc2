// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of roiaware_pool3d, written from the contract. Uses no code of
// problem.h, so that errors there are found.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/roiaware_pool3d/scenes.h"
#include "testing/element.h"
#include "testing/operator_test.h"

namespace mluop::roiaware_pool3d {
namespace {

using namespace mluop::testing;

int64_t VoxelsOfABox(const Arguments& a) {
  return int64_t{a.Int("out_x")} * a.Int("out_y") * a.Int("out_z");
}

template <typename Real>
int64_t Cell(Real position, int count) {
  if (!(position > 0)) return 0;  // NaN too
  if (position >= static_cast<Real>(count)) return count - 1;
  return std::min<int64_t>(static_cast<int64_t>(position), count - 1);
}

// Visits (voxel of all boxes, point) for every point inside a box, points in ascending order. T is
// the type of the points, Real that of the coordinates. The angle's cosine and sine are computed in
// Angle.
template <typename T, typename Real, typename Angle, class Visit>
void ForEachInside(const Arguments& a, Visit visit) {
  const int out_x = a.Int("out_x"), out_y = a.Int("out_y"), out_z = a.Int("out_z");
  const int64_t boxes = a.Int("boxes_num"), points = a.Int("pts_num");
  const T *rois = a.In<T>("rois"), *pts = a.In<T>("pts");
  for (int64_t b = 0; b < boxes; ++b) {
    const T* roi = rois + b * 7;
    const Real cx = ValueOf(roi[0]), cy = ValueOf(roi[1]), cz = ValueOf(roi[2]);
    const Real dx = ValueOf(roi[3]), dy = ValueOf(roi[4]), dz = ValueOf(roi[5]);
    const Angle angle = -static_cast<Angle>(ValueOf(roi[6]));
    const auto cosa = static_cast<Real>(std::cos(angle));
    const auto sina = static_cast<Real>(std::sin(angle));
    for (int64_t i = 0; i < points; ++i) {
      const Real x = ValueOf(pts[i * 3]), y = ValueOf(pts[i * 3 + 1]), z = ValueOf(pts[i * 3 + 2]);
      const Real lx = (x - cx) * cosa - (y - cy) * sina;
      const Real ly = (x - cx) * sina + (y - cy) * cosa;
      const bool inside =
          std::abs(z - (cz + dz / 2)) <= dz / 2 && std::abs(lx) < dx / 2 && std::abs(ly) < dy / 2;
      if (!inside) continue;
      const int64_t ix = Cell((lx + dx / 2) / (dx / static_cast<Real>(out_x)), out_x);
      const int64_t iy = Cell((ly + dy / 2) / (dy / static_cast<Real>(out_y)), out_y);
      const int64_t iz = Cell((z - cz) / (dz / static_cast<Real>(out_z)), out_z);
      visit(((b * out_x + ix) * out_y + iy) * out_z + iz, static_cast<int32_t>(i));
    }
  }
}

template <typename T, typename Real, typename Angle>
void FillIndices(const Arguments& a) {
  const int slots = a.Int("max_pts_each_voxel");
  auto* indices = a.Out<int32_t>("pts_idx_of_voxels");
  std::memset(indices, 0, a.Tensor("pts_idx_of_voxels").ByteCount());
  ForEachInside<T, Real, Angle>(a, [=](int64_t voxel, int32_t point) {
    int32_t* row = indices + voxel * slots;
    if (row[0] < slots - 1) row[++row[0]] = point;
  });
}

// T: feature type. Sum: accumulator type. Out: output type.
template <typename T, typename Sum, typename Out>
void Pool(const Arguments& a) {
  const int64_t voxels = a.Int("boxes_num") * VoxelsOfABox(a), channels = a.Int("channels");
  const int64_t slots = a.Int("max_pts_each_voxel");
  const bool maximum = a.Int("pool_method") == 0;
  const T* features = a.In<T>("pts_feature");
  for (int64_t v = 0; v < voxels; ++v) {
    const int32_t* row = a.In<int32_t>("pts_idx_of_voxels") + v * slots;
    for (int64_t c = 0; c < channels; ++c) {
      Sum best = -INFINITY, sum = 0;
      int32_t argmax = -1;
      for (int32_t k = 1; k <= row[0]; ++k) {
        const Sum value = ValueOf(features[row[k] * channels + c]);
        sum += value;
        if (value > best) {
          best = value;
          argmax = row[k];
        }
      }
      const Sum mean = row[0] == 0 ? 0 : sum / static_cast<Sum>(row[0]);
      const Sum pooled = !maximum ? mean : argmax < 0 ? 0 : best;
      Assign(pooled, a.Out<Out>("pooled_features")[v * channels + c]);
      if (a.Tensor("argmax").desc == nullptr) continue;  // avg without it
      a.Out<int32_t>("argmax")[v * channels + c] = maximum ? argmax : 0;
    }
  }
}

template <typename T, typename Real, typename Angle, typename Sum, typename Out>
void Forward(const Arguments& a) {
  FillIndices<T, Real, Angle>(a);
  Pool<T, Sum, Out>(a);
}

// T: gradient type. Sum: accumulator type. Out: type of grad_in.
template <typename T, typename Sum, typename Out>
void Backward(const Arguments& a) {
  const int64_t voxels = a.Int("boxes_num") * VoxelsOfABox(a), channels = a.Int("channels");
  const int64_t points = a.Symbol("P"), slots = a.Int("max_pts_each_voxel");
  const bool maximum = a.Int("pool_method") == 0;
  const auto* indices = a.In<int32_t>("pts_idx_of_voxels");
  const auto* argmax = a.In<int32_t>("argmax");
  const T* grad = a.In<T>("grad_out");
  OutputSums<Sum, Out> all(a, "grad_in");
  Sum* sums = all.data();
  for (int64_t v = 0; v < voxels; ++v, grad += channels) {
    if (maximum) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t point = argmax[v * channels + c];
        if (point >= 0 && point < points) sums[point * channels + c] += ValueOf(grad[c]);
      }
      continue;
    }
    const int64_t count = std::clamp<int64_t>(indices[v * slots], 0, slots - 1);
    for (int64_t k = 1; k <= count; ++k) {
      const int64_t point = indices[v * slots + k];
      if (point < 0 || point >= points) continue;
      for (int64_t c = 0; c < channels; ++c) {
        sums[point * channels + c] += static_cast<Sum>(ValueOf(grad[c])) / static_cast<Sum>(count);
      }
    }
  }
}

// Every point is tested against every box: 3 differences, 4 products, 2 sums, 3 comparisons.
Work ForwardWork(const Arguments& a) {
  const double tests = static_cast<double>(a.Int("boxes_num")) * a.Int("pts_num");
  return {AllBytes(a), tests * 12};
}

// Counts and indices determine the elements that are read. The operations are one addition per
// element of a pooled point, and for the mean one division per element.
Work BackwardWork(const Arguments& a) {
  const int64_t channels = a.Int("channels"), slots = a.Int("max_pts_each_voxel");
  const int64_t voxels = a.Int("boxes_num") * VoxelsOfABox(a);
  const bool maximum = a.Int("pool_method") == 0;
  const auto* indices = a.In<int32_t>("pts_idx_of_voxels");
  const auto* argmax = a.In<int32_t>("argmax");
  TouchedLines index_lines(a, "pts_idx_of_voxels"), grad_lines(a, "grad_out");
  int64_t operations = 0;
  for (int64_t v = 0; v < voxels; ++v) {
    int64_t additions = 0;
    if (maximum) {
      const auto chosen = [](int32_t point) { return point >= 0; };
      additions = std::count_if(argmax + v * channels, argmax + (v + 1) * channels, chosen);
    } else {
      const int64_t count = std::clamp<int64_t>(indices[v * slots], 0, slots - 1);
      index_lines.Touch(v * slots, 1 + count);
      additions = count * channels;
    }
    if (additions == 0) continue;
    grad_lines.Touch(v * channels, channels);
    operations += additions + (maximum ? 0 : channels);
  }
  const double read =
      maximum ? static_cast<double>(a.Tensor("argmax").ByteCount()) : index_lines.Bytes();
  return {read + grad_lines.Bytes() + static_cast<double>(a.Tensor("grad_in").ByteCount()),
          static_cast<double>(operations)};
}

// The functions have two spellings each.
template <auto kFunction>
mluOpStatus_t CallForward(mluOpHandle_t handle, const Arguments& a) {
  return kFunction(handle, a.Int("pool_method"), a.Int("boxes_num"), a.Int("pts_num"),
                   a.Int("channels"), Desc(a, "rois"), a.In<void>("rois"), Desc(a, "pts"),
                   a.In<void>("pts"), Desc(a, "pts_feature"), a.In<void>("pts_feature"),
                   a.workspace.data, a.workspace.size, a.Int("max_pts_each_voxel"), a.Int("out_x"),
                   a.Int("out_y"), a.Int("out_z"), Desc(a, "argmax"), a.Out<void>("argmax"),
                   Desc(a, "pts_idx_of_voxels"), a.Out<void>("pts_idx_of_voxels"),
                   Desc(a, "pooled_features"), a.Out<void>("pooled_features"));
}

template <auto kFunction>
mluOpStatus_t CallBackward(mluOpHandle_t handle, const Arguments& a) {
  return kFunction(handle, a.Int("pool_method"), a.Int("boxes_num"), a.Int("out_x"), a.Int("out_y"),
                   a.Int("out_z"), a.Int("channels"), a.Int("max_pts_each_voxel"),
                   Desc(a, "pts_idx_of_voxels"), a.In<void>("pts_idx_of_voxels"), Desc(a, "argmax"),
                   a.In<void>("argmax"), Desc(a, "grad_out"), a.In<void>("grad_out"),
                   Desc(a, "grad_in"), a.Out<void>("grad_in"));
}

template <auto kFunction>
mluOpStatus_t CallGetter(mluOpHandle_t handle, const Arguments& a, size_t* size) {
  return kFunction(handle, Desc(a, "rois"), Desc(a, "pts"), Desc(a, "pts_feature"), size);
}
constexpr auto kCallForwardWorkspace = CallGetter<mluOpGetRoiawarePool3dForwardWorkspaceSize>;

constexpr OutputRule kForwardOutputs[] = {{"argmax", Criterion::kExact},
                                          {"pts_idx_of_voxels", Criterion::kExact},
                                          {"pooled_features", Criterion::kDynamic}};
constexpr OutputRule kBackwardOutputs[] = {{"grad_in", Criterion::kDynamic}};

constexpr OperatorTest kOperators[] = {
    {.name = "roiaware_pool3d_forward",
     .outputs = kForwardOutputs,
     .options = kForwardOptions,
     .call = CallForward<mluOpRoiawarePool3dForward>,
     .workspace_size = kCallForwardWorkspace,
     .generate = GenerateForward,
     .reference = ByType<Forward<float, float, double, double, double>,
                         Forward<Half, float, double, double, double>,
                         Forward<double, long double, long double, long double, double>>,
     .plain = ByType<Forward<float, float, double, float, float>,
                     Forward<Half, float, double, float, Half>,
                     Forward<double, double, double, double, double>>,
     .work = ForwardWork,
     .other_spelling = CallForward<mluOpRoiAwarePool3dForward>},
    {.name = "roiaware_pool3d_backward",
     .outputs = kBackwardOutputs,
     .options = kBackwardOptions,
     .call = CallBackward<mluOpRoiawarePool3dBackward>,
     .workspace_size = nullptr,
     .generate = GenerateBackward,
     .reference = ByType<Backward<float, double, double>, Backward<Half, double, double>,
                         Backward<double, long double, double>>,
     .plain = ByType<Backward<float, float, float>, Backward<Half, float, Half>,
                     Backward<double, double, double>>,
     .work = BackwardWork,
     .other_spelling = CallBackward<mluOpRoiAwarePool3dBackward>},
};

constexpr GetterTest kGetters[] = {{"roiaware_pool3d_forward_workspace", kCallForwardWorkspace,
                                    CallGetter<mluOpGetRoiAwarePool3dForwardWorkspaceSize>}};

}  // namespace

extern constexpr FamilyTest kFamilyTest = {"roiaware_pool3d", kOperators, kGetters};

}  // namespace mluop::roiaware_pool3d
