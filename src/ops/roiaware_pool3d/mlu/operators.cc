// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on the MLU, host side: the partition of NRAM and the limits of document
// 002 (1.4, 3.4).
#include "mlu/context.h"
#include "ops/roi/mlu/refusal.h"
#include "ops/roi/mlu/union1.h"
#include "ops/roiaware_pool3d/mlu/kernels.h"
#include "ops/roiaware_pool3d/problem.h"

namespace mluop::roiaware_pool3d {
namespace {

using RoiawareCall = MluCall<Problem>;

constexpr int64_t kCountAlign = 64;  // channels; satisfies the vector unit for half and float
constexpr int64_t kIndexAlign = 32;  // int32 in 128 bytes
// Document 002, 1.4: the maximum number of indices of a voxel in NRAM.
constexpr int kMaxPtsEachVoxel = 2048;

constexpr int64_t PadUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

int64_t ElementBytes(const Problem& p) { return p.half ? 2 : 4; }

// Bytes of NRAM: of the indices of a voxel (avg), and per channel. The average of half has one
// float buffer more than in the document.
int64_t IndexBytes(const Problem& p) {
  return p.method == kMaximum ? 0 : PadUp(p.slots, kIndexAlign) * int64_t{sizeof(int)};
}
int64_t BytesPerChannel(const Problem& p) {
  if (p.method == kMaximum) return int64_t{sizeof(int)} + ElementBytes(p);
  return ElementBytes(p) + (p.half ? int64_t{sizeof(float)} : 0);
}

// nram_channels_limit of the document.
int ChannelsLimit(const RoiawareCall& call) {
  const auto nram = static_cast<int64_t>(call.context.properties().nram_bytes);
  const int64_t channels = (nram - IndexBytes(call.p)) / BytesPerChannel(call.p);
  return static_cast<int>(channels / kCountAlign * kCountAlign);
}

mluOpStatus_t RefuseCard(const RoiawareCall& call) {
  const MluProperties& properties = call.context.properties();
  if (properties.bang_arch < 372) {
    return Fail(MLUOP_STATUS_ARCH_MISMATCH,
                "%.*s: needs __bang_atomic_reduce_add, which mlu370 and newer have, got %s",
                MLUOP_SV(call.arguments.spec->name), properties.architecture);
  }
  if (call.p.method == kAverage && call.p.slots > kMaxPtsEachVoxel) {
    return Fail(MLUOP_STATUS_NOT_SUPPORTED,
                "%.*s: max_pts_each_voxel must be at most %d, the space of a voxel's indices in "
                "NRAM, got %d",
                MLUOP_SV(call.arguments.spec->name), kMaxPtsEachVoxel, call.p.slots);
  }
  return MLUOP_STATUS_SUCCESS;
}

// The sums of half.
size_t SumElements(const Problem& p) {
  return static_cast<size_t>(p.points) * static_cast<size_t>(p.channels);
}
size_t Scratch(const RoiawareCall& call) {
  return call.p.half ? SumElements(call.p) * sizeof(float) : 0;
}

mluOpStatus_t Run(const RoiawareCall& call, void* scratch) {
  const Problem& p = call.p;
  const Arguments& a = call.arguments;
  const LaunchConfig launch = roi::PolicyUnion1(call.context);
  const RoiawareParam param = {static_cast<int>(p.voxels()), p.channels, p.slots, p.points,
                               ChannelsLimit(call)};
  void* const sums = p.half ? scratch : a.Out<void>("grad_in");
  const RoiawareTensors tensors = {a.In<int>("pts_idx_of_voxels"), a.In<int>("argmax"),
                                   a.In<void>("grad_out"), static_cast<float*>(sums)};
  KernelFillZero(launch, sums, SumElements(p) * sizeof(float));
  const auto max_kernel =
      p.half ? KernelRoiawareMaxPool3dBackwardHalf : KernelRoiawareMaxPool3dBackwardFloat;
  const auto avg_kernel =
      p.half ? KernelRoiawareAvgPool3dBackwardHalf : KernelRoiawareAvgPool3dBackwardFloat;
  (p.method == kMaximum ? max_kernel : avg_kernel)(launch, param, tensors);
  if (p.half) KernelRoundToHalf(launch, tensors.sums, a.Out<void>("grad_in"), SumElements(p));
  return MLUOP_STATUS_SUCCESS;
}

void Describe(const RoiawareCall& call, Plan& plan) {
  plan.Add("task type Union1, %d clusters", call.context.properties().cluster_limit);
  plan.Add("split over cores voxels");
  plan.Add("sums by atomics: the order is free, in both atomics modes");
  plan.Add("nram_channels_limit %d", ChannelsLimit(call));
  const long long bytes = IndexBytes(call.p) + ChannelsLimit(call) * BytesPerChannel(call.p);
  plan.Add("NRAM %lld bytes", bytes);
}

constexpr MluImplementation<Problem> kBackward[] = {
    {"atomics", "always", Always, Scratch, Run, Describe, false, /*free_order=*/true}};
constexpr MluOperator kBackwardMlu =
    roi::BindRefusing<MakeBackwardProblem, kBackward, RefuseCard>("roiaware_pool3d_backward");
constexpr const MluOperator* kOperators[] = {&kBackwardMlu};

}  // namespace

extern const MluFamily kMluFamily;
constexpr MluFamily kMluFamily = {kOperators, {}};

}  // namespace mluop::roiaware_pool3d
