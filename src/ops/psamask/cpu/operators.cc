// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU: the implementations of its operators.
#include "ops/psamask/cpu/kernels.h"
#include "ops/psamask/cpu/tuning.h"

namespace mluop::psamask {
namespace {

bool HasWideMask(const Problem& p) { return p.MaskCols() * kNarrowMask > p.w; }

bool CanCopyRows(const PsamaskCall& call) {
  return call.p.in_pixel_major && call.p.out_pixel_major;
}
bool CanTransposeLoad(const PsamaskCall& call) {
  const Problem& p = call.p;
  return !p.in_pixel_major && p.out_pixel_major && p.pixels() >= kLine && HasWideMask(p);
}
bool CanTransposeStore(const PsamaskCall& call) {
  return call.p.in_pixel_major && !call.p.out_pixel_major && HasWideMask(call.p);
}
bool CanSkew(const PsamaskCall& call) {
  const Problem& p = call.p;
  return !p.in_pixel_major && !p.out_pixel_major && p.w >= kLine && HasWideMask(p);
}

size_t TileScratch(const PsamaskCall& call) {
  return call.context.PerWorkerBytes(TileFloats(call.p));
}

using Entry = CpuImplementation<Problem>;
constexpr Entry kRows = {"rows", "COLLECT", CanCopyRows, nullptr, CopyRows};
constexpr Entry kTransposeLoad = {"transpose_load", "DISTRIBUTE, at least 16 pixels, w_mask > W/4",
                                  CanTransposeLoad, TransposeLoadScratch,
                                  TransposeLoad,    DescribeTransposeLoad};
constexpr Entry kTransposeStore = {"transpose_store", "DISTRIBUTE, w_mask > W/4",
                                   CanTransposeStore, TileScratch,
                                   TransposeStore,    DescribeTiles<kBandPixels, kTileCols>};
constexpr Entry kSkew = {"skew", "COLLECT, W >= 16, w_mask > W/4",     CanSkew, TileScratch,
                         Skew,   DescribeTiles<kBandPixels, kTileCols>};
constexpr Entry kElements = {"elements", "always", Always, nullptr, CopyElements};
constexpr Entry kDouble = Entry::ForDouble(CopyDoubles);

constexpr Entry kForward[] = {kRows, kTransposeStore, kElements, kDouble};
constexpr Entry kBackward[] = {kRows, kTransposeLoad, kElements, kDouble};
constexpr Entry kNchwForward[] = {kSkew, kTransposeLoad, kElements, kDouble};
constexpr Entry kNchwBackward[] = {kSkew, kTransposeStore, kElements, kDouble};

constexpr CpuOperator kForwardCpu =
    Bind<MakeProblem<Layout::kNhwc, Direction::kForward>, kForward>("psamask_forward");
constexpr CpuOperator kBackwardCpu =
    Bind<MakeProblem<Layout::kNhwc, Direction::kBackward>, kBackward>("psamask_backward");
constexpr CpuOperator kNchwForwardCpu =
    Bind<MakeProblem<Layout::kNchw, Direction::kForward>, kNchwForward>("psamask_nchw_forward");
constexpr CpuOperator kNchwBackwardCpu =
    Bind<MakeProblem<Layout::kNchw, Direction::kBackward>, kNchwBackward>("psamask_nchw_backward");

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu, &kNchwForwardCpu,
                                             &kNchwBackwardCpu};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::psamask
