// SPDX-License-Identifier: Apache-2.0
// border_align forward on the MLU, host side: the partition of NRAM (document 001, 3.2).
#include "mlu/context.h"
#include "ops/border_align/mlu/kernels.h"
#include "ops/border_align/problem.h"
#include "ops/roi/mlu/refusal.h"
#include "ops/roi/mlu/union1.h"

namespace mluop::border_align {
namespace {

using BorderAlignCall = MluCall<Problem>;

constexpr int64_t kNfuAlignSize = 128;

// Bytes of NRAM per channel: PING and PONG of T, output and argmax_idx; half has two more float
// buffers.
int64_t BytesPerChannel(bool half) {
  constexpr int64_t kPingpong = 4 + 4, kOther = 2, kHalfOther = 2;
  constexpr int64_t kFloatBytes = 4, kHalfBytes = 2;
  return half ? kPingpong * kHalfBytes + (kOther + kHalfOther) * kFloatBytes
              : (kPingpong + kOther) * kFloatBytes;
}

bool IsHalf(const BorderAlignCall& call) { return call.arguments.Type() == MLUOP_DTYPE_HALF; }

// deal_num of the document: a multiple of NFU_ALIGN_SIZE, which it counts in elements here.
int DealNum(const BorderAlignCall& call) {
  const auto nram = static_cast<int64_t>(call.context.properties().nram_bytes) - kNfuAlignSize;
  const int64_t channels = nram / BytesPerChannel(IsHalf(call));
  return static_cast<int>(channels / kNfuAlignSize * kNfuAlignSize);
}

// Boxes are counted in int32, with room for a step of taskDim.
mluOpStatus_t RefuseBoxes(const BorderAlignCall& call) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const int64_t boxes = int64_t{call.p.n} * call.p.k;
  if (boxes <= kMost) return MLUOP_STATUS_SUCCESS;
  return Fail(MLUOP_STATUS_NOT_SUPPORTED,
              "%.*s: boxes must be at most %lld in all images, got %lld",
              MLUOP_SV(call.arguments.spec->name), static_cast<long long>(kMost),
              static_cast<long long>(boxes));
}

mluOpStatus_t Run(const BorderAlignCall& call, void*) {
  const Problem& p = call.p;
  const Arguments& a = call.arguments;
  const LaunchConfig launch = roi::PolicyUnion1(call.context);
  const BorderAlignParam param = {p.n, p.h, p.w, p.c, p.k, p.pool_size, DealNum(call)};
  const BorderAlignTensors tensors = {a.In<void>("input"), a.In<void>("boxes"),
                                      a.Out<void>("output"), a.Out<int>("argmax_idx")};
  (IsHalf(call) ? KernelBorderAlignForwardHalf : KernelBorderAlignForwardFloat)(launch, param,
                                                                                tensors);
  return MLUOP_STATUS_SUCCESS;
}

void Describe(const BorderAlignCall& call, Plan& plan) {
  const int deal_num = DealNum(call);
  plan.Add("task type Union1, %d clusters", call.context.properties().cluster_limit);
  plan.Add("split over cores boxes of all images");
  plan.Add("deal_num %d", deal_num);
  const long long bytes = deal_num * BytesPerChannel(IsHalf(call)) + kNfuAlignSize;
  plan.Add("NRAM %lld bytes", bytes);
}

constexpr MluImplementation<Problem> kForward[] = {
    {"pingpong", "always", Always, nullptr, Run, Describe}};
constexpr MluOperator kForwardMlu =
    roi::BindRefusing<MakeProblem, kForward, RefuseBoxes>("border_align_forward");
constexpr const MluOperator* kOperators[] = {&kForwardMlu};

}  // namespace

extern const MluFamily kMluFamily;
constexpr MluFamily kMluFamily = {kOperators, {}};

}  // namespace mluop::border_align
