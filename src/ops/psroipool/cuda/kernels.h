// SPDX-License-Identifier: Apache-2.0
// psroipool: shared declarations of the CUDA kernels.
#pragma once

#include "cuda/context.h"
#include "ops/psroipool/problem.h"

namespace mluop::psroipool {

extern const CudaOperator kForwardCuda, kNchwForwardCuda, kBackwardCuda;

// For tensors of type double (double.cu).
mluOpStatus_t RunDoubleForward(const CudaCall<Problem>& call, void* scratch);
mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void* scratch);
size_t DoubleBackwardBytes(const CudaCall<Problem>& call);

// Forward, large maps: the map is repacked in scratch.
bool CanRepack(const Problem& p);
size_t RepackedBytes(const Problem& p);
mluOpStatus_t RunRepacked(const CudaCall<Problem>& call, void* scratch);

#if defined(__CUDACC__)

// Where elements lie. kNchw: the map is [N, C, H, W] and pooled values are [R, output_dim, G, G];
// otherwise [N, H, W, C] and [R, G, G, output_dim].
template <bool kNchw>
struct ElementLayout {
  // Of output channel c of a bin.
  static __device__ int64_t Pooled(const Problem& p, int64_t r, int64_t bin, int64_t c) {
    return kNchw ? r * p.channels() + p.Channel(bin, c) : (r * p.bins() + bin) * p.output_dim + c;
  }
  // From an output channel to the next, in pooled values.
  static __device__ int64_t PooledStep(const Problem& p) { return kNchw ? p.bins() : 1; }

  // Of a channel of a pixel.
  static __device__ int64_t Map(const Problem& p, int64_t image, int64_t pixel, int64_t channel) {
    const int64_t pixels = int64_t{p.h} * p.w;
    return kNchw ? (image * p.channels() + channel) * pixels + pixel
                 : (image * pixels + pixel) * p.channels() + channel;
  }
  static __device__ int64_t PixelStep(const Problem& p) { return kNchw ? 1 : p.channels(); }
  static __device__ int64_t ChannelStep(const Problem& p) { return kNchw ? int64_t{p.h} * p.w : 1; }
};

// The rows and columns of a bin, in one load. Rows are counted through all images, so that a row
// implies its image. Both spans are [0, 0) where the RoI is empty.
struct alignas(16) Bin {
  Span rows, columns;

  __device__ int32_t area() const { return rows.size() * columns.size(); }
};

inline __device__ Place LoadPlace(const Problem& p, const float* __restrict__ rois, int64_t r) {
  float roi[5];
#pragma unroll
  for (int i = 0; i < 5; ++i) roi[i] = __ldg(rois + r * 5 + i);
  return PlaceRoi(p, roi);
}

// Bin `item` of [R, G, G]; fewer than 2^31.
inline __device__ Bin LoadBin(const Problem& p, const float* __restrict__ rois, unsigned item) {
  const auto bins = static_cast<unsigned>(p.bins()), group = static_cast<unsigned>(p.group);
  const Place place = LoadPlace(p, rois, item / bins);
  const unsigned bin = item % bins;
  return {place.MapRows(p, static_cast<int>(bin / group)),
          place.Columns(p, static_cast<int>(bin % group))};
}

// Order of the sum of a bin, the same in all implementations of forward. Four pixels, row by row,
// make a quad: (v0 + v1) + (v2 + v3). Quads of 64 pixels make a part, the parts the sum: no chain of
// additions is long. Missing pixels are zeros.
constexpr int kPixelGroup = 4;
constexpr int kPartPixels = 64;

// Returns how many floats an address is beyond a multiple of 16 bytes.
inline __device__ int ShiftOf(const float* address) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(address) / sizeof(float) % 4);
}

#endif  // __CUDACC__

}  // namespace mluop::psroipool
