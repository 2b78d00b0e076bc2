// SPDX-License-Identifier: Apache-2.0
// points_in_boxes: tables and C entry points.
#include "core/operator.h"
#include "mluops/extensions.h"

namespace mluop::points_in_boxes {
namespace {

constexpr TensorRow kPoints = {"points", kIn, kT, kAnyLayout, "B M 3", kSkip};
constexpr TensorRow kBoxes = {"boxes", kIn, kT, kAnyLayout, "B T 7", kReject};

constexpr Operator kFirst = {
    OpSpec("points_in_boxes", kFloat, {},
           {kPoints, kBoxes, {"points_indices", kOut, kI32, kAnyLayout, "B M", kSkip}}),
    "M"};

constexpr Operator kAll = {
    OpSpec("points_in_boxes_all", kFloat, {},
           {kPoints, kBoxes, {"inside", kOut, kI32, kAnyLayout, "B M T", kSkip}}),
    "M"};

constexpr const Operator* kOperators[] = {&kFirst, &kAll};

}  // namespace

extern constexpr Family kFamily = {"points_in_boxes", kOperators, {}};

}  // namespace mluop::points_in_boxes

using namespace mluop;

mluOpStatus_t mluOpPointsInBoxes(mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc,
                                 const void* points, const mluOpTensorDescriptor_t boxes_desc,
                                 const void* boxes,
                                 const mluOpTensorDescriptor_t points_indices_desc,
                                 void* points_indices) {
  return Execute(
      points_in_boxes::kFirst, handle, {},
      {{points_desc, points}, {boxes_desc, boxes}, {points_indices_desc, points_indices}});
}

mluOpStatus_t mluOpPointsInBoxesAll(mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc,
                                    const void* points, const mluOpTensorDescriptor_t boxes_desc,
                                    const void* boxes, const mluOpTensorDescriptor_t inside_desc,
                                    void* inside) {
  return Execute(points_in_boxes::kAll, handle, {},
                 {{points_desc, points}, {boxes_desc, boxes}, {inside_desc, inside}});
}
