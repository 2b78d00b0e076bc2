// SPDX-License-Identifier: Apache-2.0
// points_in_boxes on CUDA devices: one kernel computes the boxes' geometry, a second one tests points.
// Float and double share the code.
#include "cuda/context.h"
#include "ops/points_in_boxes/problem.h"

namespace mluop::points_in_boxes {
namespace {

using BoxesCall = CudaCall<Problem>;

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    MakeBoxes(Problem p, const T* values, roi::TurnedBox<T>* boxes) {
  const int64_t b = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (b < p.all_boxes()) boxes[b] = LoadBox(values + b * roi::kBoxValues);
}

// A thread owns a point. The threads of a warp read the same box.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    FindFirst(Problem p, const T* points, const roi::TurnedBox<T>* boxes, int32_t* indices) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= p.all_points()) return;
  const T x = points[i * 3], y = points[i * 3 + 1], z = points[i * 3 + 2];
  boxes += i / p.points * p.boxes;
  int64_t b = 0;
  while (b < p.boxes && !boxes[b].Contains(boxes[b].OffsetOf(x, y), z)) ++b;
  indices[i] = b < p.boxes ? static_cast<int32_t>(b) : -1;
}

// A thread owns an element of the result, so that stores are coalesced.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    FindAll(Problem p, const T* points, const roi::TurnedBox<T>* boxes, int32_t* all) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= p.all_points() * p.boxes) return;
  const int64_t point = i / p.boxes;
  const T* at = points + point * 3;
  const roi::TurnedBox<T>& box = boxes[point / p.points * p.boxes + i % p.boxes];
  all[i] = box.Contains(box.OffsetOf(at[0], at[1]), at[2]) ? 1 : 0;
}

template <typename T>
size_t BoxBytes(const BoxesCall& call) {
  return static_cast<size_t>(call.p.all_boxes()) * sizeof(roi::TurnedBox<T>);
}

Grid GridFor(int64_t threads) { return {CeilDiv(threads, kThreads), kThreads}; }

// kAll: tests every pair; otherwise finds the first box of each point.
template <typename T, bool kAll>
mluOpStatus_t Run(const BoxesCall& call, void* scratch) {
  const Arguments& a = call.arguments;
  auto* const boxes = static_cast<roi::TurnedBox<T>*>(scratch);
  call.context.Launch(MakeBoxes<T>, GridFor(call.p.all_boxes()), call.p, a.In<T>("boxes"), boxes);
  const int64_t results = call.p.all_points() * (kAll ? call.p.boxes : 1);
  call.context.Launch(kAll ? FindAll<T> : FindFirst<T>, GridFor(results), call.p, a.In<T>("points"),
                      boxes, a.Out<int32_t>(kAll ? "inside" : "points_indices"));
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
