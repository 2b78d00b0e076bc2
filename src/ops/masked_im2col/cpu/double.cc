// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im on the CPU, implementation "double". Copies move bits.
#include "cpu/plain_loops.h"
#include "ops/masked_im2col/cpu/mask_table.h"
#include "ops/masked_im2col/cpu/operators.h"

namespace mluop::masked_im2col {
namespace {

// Returns the pixel that kernel element `tap` of mask m meets in a plane; -1 outside.
int64_t PixelOf(const Problem& p, const MaskIndices& masks, int64_t tap, int64_t m) {
  return p.Offset(p.Top(masks.h[m]) + tap / p.kernel_w, p.Left(masks.w[m]) + tap % p.kernel_w);
}

}  // namespace

mluOpStatus_t RunDoubleForward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const MaskIndices masks = MasksOf(call.arguments);
  const auto* feature = call.arguments.In<uint64_t>("feature");
  auto* data_col = call.arguments.Out<uint64_t>("data_col");
  call.context.threads().ForEach(p.channels * p.taps(), GrainFor(p.masks), [&](int64_t row, int) {
    const uint64_t* const plane = feature + row / p.taps() * p.plane();
    for (int64_t m = 0; m < p.masks; ++m) {
      const int64_t pixel = PixelOf(p, masks, row % p.taps(), m);
      data_col[row * p.masks + m] = pixel < 0 ? 0 : plane[pixel];
    }
  });
  return MLUOP_STATUS_SUCCESS;
}

// A worker owns channels. Without masks the loop over the kernel elements is skipped.
mluOpStatus_t RunDoubleBackward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const MaskIndices masks = MasksOf(call.arguments);
  const auto* grad_col = call.arguments.In<double>("grad_col");
  auto* grad_feature = call.arguments.Out<double>("grad_feature");
  const int64_t taps = p.masks == 0 ? 0 : p.taps();
  call.context.threads().ForEach(
      p.channels, GrainFor(taps * p.masks + p.plane()), [&](int64_t channel, int) {
        double* const plane = grad_feature + channel * p.plane();
        std::fill_n(plane, p.plane(), 0.0);
        for (int64_t tap = 0; tap < taps; ++tap) {
          const double* const row = grad_col + (channel * taps + tap) * p.masks;
          for (int64_t m = 0; m < p.masks; ++m) {
            const int64_t pixel = PixelOf(p, masks, tap, m);
            if (pixel >= 0) plane[pixel] += row[m];
          }
        }
        CanonicalizeNans(plane, p.plane());
      });
  return MLUOP_STATUS_SUCCESS;
}

// A worker owns channels and copies the masks in order: the last of duplicates stays.
mluOpStatus_t RunDoubleCol2im(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const MaskIndices masks = MasksOf(call.arguments);
  const auto* col = call.arguments.In<uint64_t>("col");
  auto* im = call.arguments.Out<uint64_t>("im");
  call.context.threads().ForEach(p.channels, GrainFor(p.plane() + p.masks),
                                 [&](int64_t channel, int) {
                                   uint64_t* const plane = im + channel * p.plane();
                                   std::fill_n(plane, p.plane(), 0);
                                   for (int64_t m = 0; m < p.masks; ++m) {
                                     const int64_t pixel = p.Offset(masks.h[m], masks.w[m]);
                                     if (pixel >= 0) plane[pixel] = col[channel * p.masks + m];
                                   }
                                 });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::masked_im2col
