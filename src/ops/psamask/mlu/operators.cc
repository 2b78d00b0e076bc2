// SPDX-License-Identifier: Apache-2.0
// psamask on the MLU, host side. Splits the dimensions over clusters and cores, and finds the part
// of a core's slice that fits in NRAM (document 003, 3.3). NHWC only, as the document has it.
#include <algorithm>

#include "mlu/context.h"
#include "ops/psamask/mlu/kernels.h"
#include "ops/psamask/problem.h"
#include "ops/roi/mlu/refusal.h"
#include "ops/roi/mlu/union1.h"

namespace mluop::psamask {
namespace {

using PsamaskCall = MluCall<Problem>;

constexpr int64_t PadUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// Returns the first of N, H, W with at least `parts` items; else the longest.
Dimension ChooseDimension(const int (&extent)[3], int parts) {
  for (const Dimension dim : {kDimN, kDimH, kDimW}) {
    if (extent[dim] >= parts) return dim;
  }
  return static_cast<Dimension>(std::max_element(extent, extent + 3) - extent);
}

// Splits N, H or W over the clusters and again over the cores. Writes the largest slice of a
// core to `share`. The document launches all clusters; idle ones are not launched here.
Partition MakePartition(const MluProperties& properties, int (&share)[3], LaunchConfig* launch) {
  const int clusters = properties.cluster_limit, cores = properties.cores_per_cluster;
  Partition partition;
  partition.cluster_dim = ChooseDimension(share, clusters);
  const int used = std::min(clusters, share[partition.cluster_dim]);
  launch->k_dim.y = static_cast<unsigned>(used);
  share[partition.cluster_dim] = (share[partition.cluster_dim] + used - 1) / used;
  partition.core_dim = ChooseDimension(share, cores);
  share[partition.core_dim] = (share[partition.core_dim] + cores - 1) / cores;
  return partition;
}

// The elements of NRAM that n images of `pixels` pixels take.
struct Space {
  int64_t mask, feature, total;
};
Space SpaceOf(const PsamaskParam& p, int64_t n, int64_t pixels) {
  constexpr int64_t kVector = 128 / sizeof(float);  // fills have whole vectors
  const int64_t ci = int64_t{p.h_mask} * p.w_mask, co = int64_t{p.extent[kDimH]} * p.extent[kDimW];
  Space space;
  space.mask = PadUp(n * pixels * ci, kVector);
  space.feature = p.distribute != 0
                      ? n * PadUp(pixels, kTransposeAlign) * PadUp(co, kTransposeAlign)
                      : PadUp(n * pixels * co, kVector);
  space.total = space.mask + space.feature * (p.distribute + 1);
  return space;
}

// Returns the largest count <= most for which fits(count) is true; 0 if there is none.
template <class Fits>
int Largest(int most, const Fits& fits) {
  int low = 0, high = most;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    fits(middle) ? low = middle : high = middle - 1;
  }
  return low;
}

// findlimit: whole images of a core's slice if one fits, else rows, else pixels.
bool FindLimit(const int (&share)[3], int64_t nram_elements, PsamaskParam* p) {
  const int64_t row = share[kDimW], image = row * share[kDimH];
  const auto fits = [&](int64_t n, int64_t pixels) {
    return SpaceOf(*p, n, pixels).total <= nram_elements;
  };
  Limit limit = {1, share[kDimH], share[kDimW], 0, 0};
  limit.n = Largest(share[kDimN], [&](int n) { return fits(n, image); });
  if (limit.n == 0) {
    limit.n = 1;
    limit.h = Largest(share[kDimH], [&](int h) { return fits(1, h * row); });
  }
  if (limit.h == 0) {
    limit.h = 1;
    limit.w = Largest(share[kDimW], [&](int w) { return fits(1, w); });
  }
  const Space space = SpaceOf(*p, limit.n, int64_t{limit.h} * limit.w);
  limit.mask_elements = static_cast<int>(space.mask);
  limit.feature_elements = static_cast<int>(space.feature);
  p->limit = limit;
  return limit.w > 0;
}

// Fills param and launch; false if one pixel exceeds NRAM.
bool MakeParam(const PsamaskCall& call, PsamaskParam* param, LaunchConfig* launch) {
  const Problem& p = call.p;
  const CellGrid& mask = p.sign > 0 ? p.in : p.out;
  const MluProperties& properties = call.context.properties();
  *param = {};
  param->distribute = call.arguments.Int("psa_type");
  param->extent[kDimN] = static_cast<int>(p.n);
  param->extent[kDimH] = static_cast<int>(p.h);
  param->extent[kDimW] = static_cast<int>(p.w);
  param->h_mask = static_cast<int>(mask.rows);
  param->w_mask = static_cast<int>(mask.cols);
  int share[3] = {param->extent[0], param->extent[1], param->extent[2]};
  *launch = roi::PolicyUnion1(call.context);
  param->partition = MakePartition(properties, share, launch);
  return FindLimit(share, static_cast<int64_t>(properties.nram_bytes / sizeof(float)), param);
}

mluOpStatus_t RefuseTooLarge(const PsamaskCall& call) {
  PsamaskParam p;
  LaunchConfig launch;
  if (MakeParam(call, &p, &launch)) return MLUOP_STATUS_SUCCESS;
  const MluProperties& properties = call.context.properties();
  const long long bytes = SpaceOf(p, 1, 1).total * int64_t{sizeof(float)};
  return Fail(MLUOP_STATUS_NOT_SUPPORTED,
              "%.*s: one pixel's mask and feature grid must fit the %zu bytes of NRAM of %s, got "
              "%lld bytes",
              MLUOP_SV(call.arguments.spec->name), properties.nram_bytes, properties.architecture,
              bytes);
}

template <void (*kKernel)(const LaunchConfig&, const PsamaskParam&, const float*, float*)>
mluOpStatus_t Run(const PsamaskCall& call, void*) {
  PsamaskParam param;
  LaunchConfig launch;
  MakeParam(call, &param, &launch);
  kKernel(launch, param, static_cast<const float*>(call.arguments.tensors[0].data),
          static_cast<float*>(call.arguments.tensors[1].data));
  return MLUOP_STATUS_SUCCESS;
}

void Describe(const PsamaskCall& call, Plan& plan) {
  PsamaskParam param;
  LaunchConfig launch;
  MakeParam(call, &param, &launch);
  constexpr char kNames[] = "NHW";
  plan.Add("task type Union1, %u clusters", launch.k_dim.y);
  plan.Add("split over clusters %c", kNames[param.partition.cluster_dim]);
  plan.Add("split over cores %c", kNames[param.partition.core_dim]);
  plan.Add("n_limit %d", param.limit.n);
  plan.Add("h_limit %d", param.limit.h);
  plan.Add("w_limit %d", param.limit.w);
  const int64_t elements =
      param.limit.mask_elements + int64_t{param.limit.feature_elements} * (param.distribute + 1);
  const long long bytes = elements * int64_t{sizeof(float)};
  plan.Add("NRAM %lld bytes", bytes);
}

constexpr MluImplementation<Problem> kForward[] = {
    {"union1", "always", Always, nullptr, Run<KernelPsamaskForward>, Describe}};
constexpr MluImplementation<Problem> kBackward[] = {
    {"union1", "always", Always, nullptr, Run<KernelPsamaskBackward>, Describe}};

constexpr MluOperator kForwardMlu =
    roi::BindRefusing<MakeProblem<Layout::kNhwc, Direction::kForward>, kForward, RefuseTooLarge>(
        "psamask_forward");
constexpr MluOperator kBackwardMlu =
    roi::BindRefusing<MakeProblem<Layout::kNhwc, Direction::kBackward>, kBackward, RefuseTooLarge>(
        "psamask_backward");
constexpr const MluOperator* kOperators[] = {&kForwardMlu, &kBackwardMlu};

}  // namespace

extern const MluFamily kMluFamily;
constexpr MluFamily kMluFamily = {kOperators, {}};

}  // namespace mluop::psamask
