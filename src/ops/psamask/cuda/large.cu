// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices, implementations "large" and "double": one element per thread, with 64-bit
// offsets. The other implementations have 32-bit offsets within an image.
#include "cuda/for_each.h"
#include "ops/psamask/cuda/kernels.h"

namespace mluop::psamask {
namespace {

// The index of a cell of a pixel: [pixel][cell] or [cell][pixel].
__device__ int64_t IndexOf(bool pixel_major, int64_t pixels, int64_t cells, int64_t pixel,
                           int64_t cell) {
  return pixel_major ? pixel * cells + cell : cell * pixels + pixel;
}

// Word: an unsigned integer of the element's size.
template <typename Word>
mluOpStatus_t CopyWords(const PsamaskCall& call) {
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

}  // namespace

mluOpStatus_t CopyLarge(const PsamaskCall& call, void*) { return CopyWords<uint32_t>(call); }
mluOpStatus_t CopyDoubles(const PsamaskCall& call, void*) { return CopyWords<uint64_t>(call); }

}  // namespace mluop::psamask
