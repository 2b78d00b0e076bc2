// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices: the implementations of its operators. Both modes of atomics run the same
// copies.
#include "ops/psamask/cuda/kernels.h"

namespace mluop::psamask {
namespace {

bool CanCopyRows(const PsamaskCall& call) {
  return call.p.in_pixel_major && call.p.out_pixel_major;
}

using Entry = CudaImplementation<Problem>;
constexpr Entry kRows = {"rows", "COLLECT", CanCopyRows, nullptr, CopyRows};
constexpr Entry kBackwardCompactTiles = {"compact_tiles", "DISTRIBUTE, w_mask >= W, W <= 180",
                                         CanCopyCompactTiles, nullptr, CopyCompactTiles};
constexpr Entry kForwardCompactTiles = {"compact_tiles", "DISTRIBUTE, w_mask <= W, w_mask <= 180",
                                        CanCopyCompactTiles, nullptr, CopyCompactTiles};
constexpr Entry kTiles = {"tiles", "always", Always, nullptr, CopyTiles};
constexpr Entry kDouble = Entry::ForDouble(CopyDoubles);

constexpr Entry kForward[] = {kRows, kTiles, kDouble};
constexpr Entry kBackward[] = {kRows, kBackwardCompactTiles, kTiles, kDouble};
constexpr Entry kNchwForward[] = {kForwardCompactTiles, kTiles, kDouble};
constexpr Entry kNchwBackward[] = {kTiles, kDouble};

constexpr CudaOperator kForwardCuda =
    Bind<MakeProblem<Layout::kNhwc, Direction::kForward>, kForward>("psamask_forward");
constexpr CudaOperator kBackwardCuda =
    Bind<MakeProblem<Layout::kNhwc, Direction::kBackward>, kBackward>("psamask_backward");
constexpr CudaOperator kNchwForwardCuda =
    Bind<MakeProblem<Layout::kNchw, Direction::kForward>, kNchwForward>("psamask_nchw_forward");
constexpr CudaOperator kNchwBackwardCuda =
    Bind<MakeProblem<Layout::kNchw, Direction::kBackward>, kNchwBackward>("psamask_nchw_backward");

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda, &kNchwForwardCuda,
                                              &kNchwBackwardCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::psamask
