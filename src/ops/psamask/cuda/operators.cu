// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices: the implementations of its operators. Both modes of atomics run the same
// copies.
#include <algorithm>

#include "cuda/for_each.h"
#include "ops/psamask/cuda/kernels.h"

namespace mluop::psamask {
namespace {

// Elements of an image in the larger tensor.
int64_t ImageElements(const Problem& p) { return p.pixels() * std::max(p.in.size(), p.out.size()); }
bool HasSmallImages(const PsamaskCall& call) { return ImageElements(call.p) < kSmallLimit; }
bool CanCopyRows(const PsamaskCall& call) {
  return call.p.in_pixel_major && call.p.out_pixel_major && HasSmallImages(call);
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

// The index of a cell of a pixel: [pixel][cell] or [cell][pixel].
__device__ int64_t IndexOf(bool pixel_major, int64_t pixels, int64_t cells, int64_t pixel,
                           int64_t cell) {
  return pixel_major ? pixel * cells + cell : cell * pixels + pixel;
}

// Implementations "large" and "double": one element per thread, with 64-bit offsets. Word: an unsigned
// integer of the element's size.
template <typename Word>
mluOpStatus_t CopyWords(const PsamaskCall& call, void*) {
  const Problem p = call.p;
  const auto* in = static_cast<const Word*>(call.arguments.tensors[0].data);
  auto* out = static_cast<Word*>(call.arguments.tensors[1].data);
  const int64_t pixels = p.pixels(), in_size = p.in.size(), out_size = p.out.size();
  ForEach(call.context, p.out_count(), [=] __device__(int64_t i) {
    const int64_t image = i / (pixels * out_size), rest = i % (pixels * out_size);
    const int64_t pixel = p.out_pixel_major ? rest / out_size : rest % pixels;
    const int64_t cell = p.out_pixel_major ? rest % out_size : rest / pixels;
    const int64_t row = cell / p.out.cols + ShiftOf(p.sign, p.half_h, pixel / p.w);
    const int64_t col = cell % p.out.cols + ShiftOf(p.sign, p.half_w, pixel % p.w);
    const bool inside = row >= 0 && row < p.in.rows && col >= 0 && col < p.in.cols;
    const int64_t from = image * pixels * in_size +
                         IndexOf(p.in_pixel_major, pixels, in_size, pixel, row * p.in.cols + col);
    out[i] = inside ? in[from] : 0;
  });
  return call.context.status();
}

using Entry = CudaImplementation<Problem>;
constexpr Entry kRows = {"rows", "COLLECT", CanCopyRows, nullptr, RunBatches<CopyRows>};
constexpr Entry kTiles = {"tiles", "an image has fewer than 2^31 elements", CanCopyTiles, nullptr,
                          RunBatches<CopyTiles>};
constexpr Entry kLarge =
    Entry::Beyond32Bits({"large", "always", Always, nullptr, CopyWords<uint32_t>});
constexpr Entry kDouble = Entry::ForDouble(CopyWords<uint64_t>);

constexpr Entry kNhwc[] = {kRows, kTiles, kLarge, kDouble};
constexpr Entry kNchw[] = {kTiles, kLarge, kDouble};

constexpr CudaOperator kForwardCuda =
    Bind<MakeProblem<Layout::kNhwc, Direction::kForward>, kNhwc>("psamask_forward");
constexpr CudaOperator kBackwardCuda =
    Bind<MakeProblem<Layout::kNhwc, Direction::kBackward>, kNhwc>("psamask_backward");
constexpr CudaOperator kNchwForwardCuda =
    Bind<MakeProblem<Layout::kNchw, Direction::kForward>, kNchw>("psamask_nchw_forward");
constexpr CudaOperator kNchwBackwardCuda =
    Bind<MakeProblem<Layout::kNchw, Direction::kBackward>, kNchw>("psamask_nchw_backward");

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda, &kNchwForwardCuda,
                                              &kNchwBackwardCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::psamask
