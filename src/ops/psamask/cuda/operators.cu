// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices: the implementations of its operators. Both modes of atomics run the same
// copies.
#include <algorithm>

#include "ops/psamask/cuda/kernels.h"

namespace mluop::psamask {
namespace {

// Elements of an image in the larger tensor.
int64_t ImageElements(const Problem& p) { return p.pixels() * std::max(p.in.size(), p.out.size()); }
bool HasSmallImages(const PsamaskCall& call) { return ImageElements(call.p) < kSmallLimit; }
bool CanCopyRows(const PsamaskCall& call) {
  return call.p.in_pixel_major && call.p.out_pixel_major && HasSmallImages(call);
}
bool CanCopyCompactTiles(const PsamaskCall& call) {
  const Problem& p = call.p;
  return !p.in_pixel_major && p.out_pixel_major && p.in.cols <= p.out.cols &&
         p.in.cols <= kTileCells && HasSmallImages(call);
}
bool CanCopyTiles(const PsamaskCall& call) {
  return !(call.p.in_pixel_major && call.p.out_pixel_major) && HasSmallImages(call);
}

// Runs the implementation on batches of images. A batch has fewer than 2^31 elements.
template <mluOpStatus_t (*kRun)(const PsamaskCall&, void*)>
mluOpStatus_t RunBatches(const PsamaskCall& call, void* scratch) {
  const int64_t images = (kSmallLimit - 1) / ImageElements(call.p);
  Problem p = call.p;
  Arguments arguments = call.arguments;
  TensorArgument &in = arguments.tensors[0], &out = arguments.tensors[1];
  for (int64_t first = 0; first < call.p.n; first += images) {
    p.n = std::min(images, call.p.n - first);
    if (const mluOpStatus_t status = kRun({p, arguments, call.context}, scratch)) return status;
    in.data = static_cast<float*>(in.data) + images * p.pixels() * p.in.size();
    out.data = static_cast<float*>(out.data) + images * p.pixels() * p.out.size();
  }
  return MLUOP_STATUS_SUCCESS;
}

using Entry = CudaImplementation<Problem>;
constexpr Entry kRows = {"rows", "COLLECT", CanCopyRows, nullptr, RunBatches<CopyRows>};
constexpr Entry kCompactTiles = {
    "compact_tiles", "DISTRIBUTE, input rows of at most 180 cells, not above the output's",
    CanCopyCompactTiles, nullptr, RunBatches<CopyCompactTiles>};
constexpr Entry kTiles = {"tiles", "an image has fewer than 2^31 elements", CanCopyTiles, nullptr,
                          RunBatches<CopyTiles>};
constexpr Entry kLarge = Entry::Beyond32Bits({"large", "always", Always, nullptr, CopyLarge});
constexpr Entry kDouble = Entry::ForDouble(CopyDoubles);

constexpr Entry kForward[] = {kRows, kTiles, kLarge, kDouble};
constexpr Entry kBackward[] = {kRows, kCompactTiles, kTiles, kLarge, kDouble};
constexpr Entry kNchwForward[] = {kCompactTiles, kTiles, kLarge, kDouble};
constexpr Entry kNchwBackward[] = {kTiles, kLarge, kDouble};

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
