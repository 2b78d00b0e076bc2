// SPDX-License-Identifier: Apache-2.0
// points_in_boxes on the CPU: blocks of points against one box after the other. The loop over the
// points of a block is vectorised by the compiler. Float and double share the code.
#include <algorithm>

#include "cpu/context.h"
#include "cpu/tuning.h"
#include "ops/points_in_boxes/problem.h"

namespace mluop::points_in_boxes {
namespace {

constexpr int kBlock = 64;  // points; three arrays of doubles take 1.5 KiB of the L1

// Up to kBlock points of one scene, coordinate by coordinate.
template <typename T>
struct Block {
  int count;
  T x[kBlock], y[kBlock], z[kBlock];

  Block(const T* points, int point_count) : count(point_count) {
    for (int i = 0; i < count; ++i) {
      x[i] = points[i * 3];
      y[i] = points[i * 3 + 1];
      z[i] = points[i * 3 + 2];
    }
  }

  // Calls visit(i, whether point i is in the box).
  template <class Visit>
  void Test(const roi::TurnedBox<T>& box, const Visit& visit) const {
    for (int i = 0; i < count; ++i) visit(i, box.Contains(box.OffsetOf(x[i], y[i]), z[i]));
  }
};

template <typename T>
size_t BoxBytes(const CpuCall<Problem>& call) {
  return static_cast<size_t>(call.p.all_boxes()) * sizeof(roi::TurnedBox<T>);
}

// Writes the boxes' geometry to scratch, then calls test(block, boxes of its scene, first point).
template <typename T, class Test>
mluOpStatus_t ForEachBlock(const CpuCall<Problem>& call, void* scratch, const Test& test) {
  const Problem& p = call.p;
  const T* const points = call.arguments.In<T>("points");
  const T* const values = call.arguments.In<T>("boxes");
  auto* const boxes = static_cast<roi::TurnedBox<T>*>(scratch);
  const ThreadPool& threads = call.context.threads();
  constexpr int64_t kBoxGrain = kGrain / 64;  // a sine and a cosine cost about 64 elements
  threads.ForEach(p.all_boxes(), kBoxGrain,
                  [&](int64_t b, int) { boxes[b] = LoadBox(values + b * roi::kBoxValues); });
  const int64_t blocks = (p.points + kBlock - 1) / kBlock;
  threads.ForEach(p.scenes * blocks, kGrain / (kBlock * p.boxes) + 1, [&](int64_t item, int) {
    const int64_t scene = item / blocks, in_scene = item % blocks * kBlock;
    const int64_t first = scene * p.points + in_scene;
    const auto count = std::min<int64_t>(kBlock, p.points - in_scene);
    test(Block<T>(points + first * 3, static_cast<int>(count)), boxes + scene * p.boxes, first);
  });
  return MLUOP_STATUS_SUCCESS;
}

template <typename T>
mluOpStatus_t FindFirst(const CpuCall<Problem>& call, void* scratch) {
  auto* const indices = call.arguments.Out<int32_t>("points_indices");
  return ForEachBlock<T>(call, scratch, [&](const auto& block, const auto* boxes, int64_t first) {
    int32_t* const found = indices + first;
    std::fill_n(found, block.count, -1);
    for (int64_t b = call.p.boxes - 1; b >= 0; --b) {  // backwards: the first box is the last write
      const auto box = static_cast<int32_t>(b);
      block.Test(boxes[b], [=](int i, bool inside) { found[i] = inside ? box : found[i]; });
    }
  });
}

template <typename T>
mluOpStatus_t FindAll(const CpuCall<Problem>& call, void* scratch) {
  auto* const all = call.arguments.Out<int32_t>("inside");
  const int64_t boxes_count = call.p.boxes;
  return ForEachBlock<T>(call, scratch, [&](const auto& block, const auto* boxes, int64_t first) {
    for (int64_t b = 0; b < boxes_count; ++b) {
      int32_t* const to = all + first * boxes_count + b;
      block.Test(boxes[b], [=](int i, bool inside) { to[i * boxes_count] = inside ? 1 : 0; });
    }
  });
}

using Entry = CpuImplementation<Problem>;
template <auto kFloat, auto kDouble>
constexpr Entry kList[] = {
    {"blocks", "always", Always, BoxBytes<float>, kFloat, DescribeTiles<1, kBlock>},
    Entry::ForDouble(kDouble, BoxBytes<double>)};

constexpr CpuOperator kFirstCpu =
    Bind<MakeProblem, kList<FindFirst<float>, FindFirst<double>>>("points_in_boxes");
constexpr CpuOperator kAllCpu =
    Bind<MakeProblem, kList<FindAll<float>, FindAll<double>>>("points_in_boxes_all");
constexpr const CpuOperator* kOperators[] = {&kFirstCpu, &kAllCpu};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::points_in_boxes
