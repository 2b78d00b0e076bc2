// SPDX-License-Identifier: Apache-2.0
// psroipool forward on the MLU, host side: the two designs of document 000 and their partitions of
// NRAM (3.3).
#include <limits>

#include "mlu/context.h"
#include "ops/psroipool/mlu/kernels.h"
#include "ops/psroipool/problem.h"
#include "ops/roi/mlu/refusal.h"
#include "ops/roi/mlu/union1.h"

namespace mluop::psroipool {
namespace {

using PsRoiPoolCall = MluCall<Problem>;

constexpr size_t kRoiBytes = 128;  // ROI_SIZE of the kernels

constexpr int64_t PadUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// The elements of NRAM per output channel.
int64_t TransposeElements(int64_t group_square) { return 2 + 2 * PadUp(group_square, kAlignSize); }
int64_t GatherElements(int64_t group_square) { return 4 + group_square; }

// num_deal of the document: 0 if not even kAlignSize channels fit.
template <int64_t (*kElements)(int64_t)>
int NumDeal(const PsRoiPoolCall& call) {
  const auto nram = static_cast<int64_t>(call.context.properties().nram_bytes - kRoiBytes);
  const int64_t deal = nram / (kElements(call.p.bins()) * int64_t{sizeof(float)});
  return static_cast<int>(deal / kAlignSize * kAlignSize);
}

// Returns the largest group_size with which kAlignSize channels fit in NRAM.
template <int64_t (*kElements)(int64_t)>
int LargestGroup(size_t nram_bytes) {
  const auto nram = static_cast<int64_t>((nram_bytes - kRoiBytes) / sizeof(float));
  int group = 1;
  while (kElements(int64_t{group + 1} * (group + 1)) * kAlignSize <= nram) ++group;
  return group;
}

bool HasGather(const PsRoiPoolCall& call) { return call.context.properties().bang_arch >= 592; }
bool CanTranspose(const PsRoiPoolCall& call) { return NumDeal<TransposeElements>(call) > 0; }

// The gather needs less NRAM than the transpose: it sets the limit on cards that have it.
mluOpStatus_t RefuseSizes(const PsRoiPoolCall& call) {
  const MluProperties& properties = call.context.properties();
  const bool gather = HasGather(call);
  if ((gather ? NumDeal<GatherElements> : NumDeal<TransposeElements>)(call) == 0) {
    const auto largest = gather ? LargestGroup<GatherElements> : LargestGroup<TransposeElements>;
    return Fail(MLUOP_STATUS_NOT_SUPPORTED,
                "%.*s: group_size must be at most %d, so that %d channels fit the NRAM of %s, got "
                "%d",
                MLUOP_SV(call.arguments.spec->name), largest(properties.nram_bytes),
                int{kAlignSize}, properties.architecture, call.p.group);
  }
  if (call.p.rois > std::numeric_limits<int>::max()) {
    return Fail(MLUOP_STATUS_NOT_SUPPORTED, "%.*s: rois.shape[0] must be below 2^31, got %lld",
                MLUOP_SV(call.arguments.spec->name), static_cast<long long>(call.p.rois));
  }
  return MLUOP_STATUS_SUCCESS;
}

template <int64_t (*kElements)(int64_t), auto kKernel>
mluOpStatus_t Run(const PsRoiPoolCall& call, void*) {
  const Problem& p = call.p;
  const PsRoiPoolParam param = {p.n,     p.h,          p.w,     static_cast<int>(p.rois),
                                p.group, p.output_dim, p.scale, NumDeal<kElements>(call)};
  const Tensors tensors(call.arguments);
  kKernel(roi::PolicyUnion1(call.context), param,
          {tensors.input, tensors.rois, tensors.output, tensors.mapping});
  return MLUOP_STATUS_SUCCESS;
}

template <int64_t (*kElements)(int64_t)>
void Describe(const PsRoiPoolCall& call, Plan& plan) {
  const int num_deal = NumDeal<kElements>(call);
  plan.Add("task type Union1, %d clusters", call.context.properties().cluster_limit);
  plan.Add("split over cores rois");
  plan.Add("num_deal %d", num_deal);
  const long long bytes =
      kElements(call.p.bins()) * num_deal * int64_t{sizeof(float)} + int64_t{kRoiBytes};
  plan.Add("NRAM %lld bytes", bytes);
}

constexpr MluImplementation<Problem> kForward[] = {
    {"gather", "mlu590", HasGather, nullptr, Run<GatherElements, KernelPsRoiPoolForwardGather>,
     Describe<GatherElements>},
    {"transpose", "the partition of NRAM has 64 channels", CanTranspose, nullptr,
     Run<TransposeElements, KernelPsRoiPoolForwardTranspose>, Describe<TransposeElements>}};

constexpr MluOperator kForwardMlu =
    roi::BindRefusing<MakeProblem, kForward, RefuseSizes>("psroipool_forward");
constexpr const MluOperator* kOperators[] = {&kForwardMlu};

// The document has a workspace argument and no use for it.
size_t NoBytes(const Arguments&) { return 0; }
constexpr DeviceGetter kGetters[] = {{"psroipool_forward_workspace", NoBytes}};

}  // namespace

extern const MluFamily kMluFamily;
constexpr MluFamily kMluFamily = {kOperators, kGetters};

}  // namespace mluop::psroipool
