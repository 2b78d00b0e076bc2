// SPDX-License-Identifier: Apache-2.0
// points_in_boxes on CUDA devices: one kernel computes the boxes' geometry, a second one tests points.
// Float and double share the code.
#include "cuda/for_each.h"
#include "ops/points_in_boxes/problem.h"

namespace mluop::points_in_boxes {
namespace {

using BoxesCall = CudaCall<Problem>;

// The threads of a warp read the same box.
template <typename T>
void FindFirst(const BoxesCall& call, const T* points, const roi::TurnedBox<T>* boxes) {
  const Problem p = call.p;
  auto* indices = call.arguments.Out<int32_t>("points_indices");
  ForEach(call.context, p.all_points(), [=] __device__(int64_t i) {
    const T x = points[i * 3], y = points[i * 3 + 1], z = points[i * 3 + 2];
    const roi::TurnedBox<T>* scene = boxes + i / p.points * p.boxes;
    int64_t b = 0;
    while (b < p.boxes && !scene[b].Contains(scene[b].OffsetOf(x, y), z)) ++b;
    indices[i] = b < p.boxes ? static_cast<int32_t>(b) : -1;
  });
}

template <typename T>
void FindAll(const BoxesCall& call, const T* points, const roi::TurnedBox<T>* boxes) {
  const Problem p = call.p;
  auto* all = call.arguments.Out<int32_t>("inside");
  ForEach(call.context, p.all_points() * p.boxes, [=] __device__(int64_t i) {
    const int64_t point = i / p.boxes;
    const T* at = points + point * 3;
    const roi::TurnedBox<T>& box = boxes[point / p.points * p.boxes + i % p.boxes];
    all[i] = box.Contains(box.OffsetOf(at[0], at[1]), at[2]) ? 1 : 0;
  });
}

template <typename T>
size_t BoxBytes(const BoxesCall& call) {
  return static_cast<size_t>(call.p.all_boxes()) * sizeof(roi::TurnedBox<T>);
}

// kAll: tests every pair; otherwise finds the first box of each point.
template <typename T, bool kAll>
mluOpStatus_t Run(const BoxesCall& call, void* scratch) {
  const auto* values = call.arguments.In<T>("boxes");
  const auto* points = call.arguments.In<T>("points");
  auto* const boxes = static_cast<roi::TurnedBox<T>*>(scratch);
  ForEach(call.context, call.p.all_boxes(),
          [=] __device__(int64_t b) { boxes[b] = LoadBox(values + b * roi::kBoxValues); });
  kAll ? FindAll(call, points, boxes) : FindFirst(call, points, boxes);
  return call.context.status();
}

using Entry = CudaImplementation<Problem>;
constexpr Entry kFirst[] = {
    {"points", "always", Always, BoxBytes<float>, Run<float, false>},
    Entry::ForDouble(Run<double, false>, BoxBytes<double>),
};
constexpr Entry kAll[] = {
    {"pairs", "always", Always, BoxBytes<float>, Run<float, true>},
    Entry::ForDouble(Run<double, true>, BoxBytes<double>),
};

constexpr CudaOperator kFirstCuda = Bind<MakeProblem, kFirst>("points_in_boxes");
constexpr CudaOperator kAllCuda = Bind<MakeProblem, kAll>("points_in_boxes_all");
constexpr const CudaOperator* kOperators[] = {&kFirstCuda, &kAllCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::points_in_boxes
