// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im on CUDA devices, implementation "double". Copies move bits. Backward
// of im2col: a thread owns a pixel in some channels, and adds masks in ascending order.
#include "ops/masked_im2col/cuda/operators.h"
#include "ops/masked_im2col/cuda/winners.h"

namespace mluop::masked_im2col {
namespace {

constexpr int kDoubleThreads = 256;
constexpr int kOwnedChannels = 8;  // of a thread of backward: one test of a mask serves all of them

__global__ void __launch_bounds__(kDoubleThreads)
    GatherDouble(Problem p, Masks masks, const double* feature, double* data_col) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= p.channels * p.taps() * p.masks) return;
  const int64_t m = i % p.masks, row = i / p.masks, tap = row % p.taps();
  const int64_t pixel =
      p.Offset(p.Top(masks.h[m]) + tap / p.kernel_w, p.Left(masks.w[m]) + tap % p.kernel_w);
  const double* const plane = feature + row / p.taps() * p.plane();
  data_col[i] = pixel < 0 ? 0.0 : plane[pixel];
}

// Neighbouring threads have neighbouring pixels.
__global__ void __launch_bounds__(kDoubleThreads)
    AddDouble(Problem p, Masks masks, const double* grad_col, double* grad_feature) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t pixel = i % p.plane(), first = i / p.plane() * kOwnedChannels;
  if (first >= p.channels) return;
  const int64_t row = pixel / p.width, column = pixel % p.width;
  double sums[kOwnedChannels] = {};
  for (int64_t m = 0; m < p.masks; ++m) {
    const int64_t down = row - p.Top(masks.h[m]), across = column - p.Left(masks.w[m]);
    if (down < 0 || down >= p.kernel_h || across < 0 || across >= p.kernel_w) continue;
    const int64_t tap = down * p.kernel_w + across;
#pragma unroll
    for (int k = 0; k < kOwnedChannels; ++k) {
      if (first + k >= p.channels) break;
      sums[k] += grad_col[((first + k) * p.taps() + tap) * p.masks + m];
    }
  }
  for (int k = 0; k < kOwnedChannels && first + k < p.channels; ++k) {
    grad_feature[(first + k) * p.plane() + pixel] = sums[k];
  }
}

using Bits = unsigned long long;

}  // namespace

mluOpStatus_t RunDoubleForward(const CudaCall<Problem>& call, void*) {
  const Arguments& a = call.arguments;
  const int64_t elements = call.p.channels * call.p.taps() * call.p.masks;
  call.context.Launch(GatherDouble, {CeilDiv(elements, kDoubleThreads), kDoubleThreads}, call.p,
                      MasksOf(a), a.In<double>("feature"), a.Out<double>("data_col"));
  return call.context.status();
}

mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void*) {
  const Arguments& a = call.arguments;
  const int64_t owners = CeilDiv(call.p.channels, kOwnedChannels) * call.p.plane();
  call.context.Launch(AddDouble, {CeilDiv(owners, kDoubleThreads), kDoubleThreads}, call.p,
                      MasksOf(a), a.In<double>("grad_col"), a.Out<double>("grad_feature"));
  return call.context.status();
}

mluOpStatus_t RunDoubleCol2im(const CudaCall<Problem>& call, void* scratch) {
  const Arguments& a = call.arguments;
  auto* const winners = static_cast<int32_t*>(scratch);
  CopyByTable<Bits>(
      call, winners, MaskOfPixel{winners},
      {a.In<Bits>("col"), a.Out<Bits>("im"), call.p.masks, call.p.plane(), call.p.channels});
  return call.context.status();
}

mluOpStatus_t RunDoubleCol2imBackward(const CudaCall<Problem>& call, void* scratch) {
  const Arguments& a = call.arguments;
  auto* const winners = static_cast<int32_t*>(scratch);
  CopyByTable<Bits>(call, winners, PixelOfMask{call.p, MasksOf(a), winners},
                    {a.In<Bits>("grad_im"), a.Out<Bits>("grad_col"), call.p.plane(), call.p.masks,
                     call.p.channels});
  return call.context.status();
}

}  // namespace mluop::masked_im2col
