// SPDX-License-Identifier: Apache-2.0
// psroipool backward on CUDA devices: shared code of the kernels. The scaled gradient is top_grad *
// (1/area), rounded before the addition, in all kernels.
#pragma once

#include "ops/psroipool/cuda/kernels.h"

namespace mluop::psroipool {

// Small maps.
bool SmallMapApplies(const CudaCall<Problem>& call);
size_t SmallMapBytes(const CudaCall<Problem>& call);
template <bool kNchw>
mluOpStatus_t RunSmallMap(const CudaCall<Problem>& call, void* scratch);
extern template mluOpStatus_t RunSmallMap<false>(const CudaCall<Problem>&, void*);
extern template mluOpStatus_t RunSmallMap<true>(const CudaCall<Problem>&, void*);

#if defined(__CUDACC__)

// The sums of a block: the channels [begin, end) of the pixels in `columns` of a row. The sums of a
// pixel are `stride` apart in shared memory.
struct SumTile {
  int32_t row;  // counted through all images
  Span columns;
  int begin, end;
  int stride;
};

// Reads the flags, strided over the block. Returns true if this thread read a set flag (custom
// mapping).
inline __device__ bool ReadFlags(const int* flags, int count) {
  bool any = false;
  for (int i = threadIdx.x; i < count; i += blockDim.x) any |= flags[i] != 0;
  return any;
}

// Adds one bin of a RoI, from element `first` of top_grad on, `step` apart. All threads read all
// elements; a channel belongs to one thread.
inline __device__ void AddElements(const Problem& p, const Gradients& t, int first, int step,
                                   const Bin& bin, const SumTile& tile, float* sums) {
  const float scale = 1.0f / static_cast<float>(bin.area());
  const auto size = static_cast<unsigned>(tile.end - tile.begin);
  for (int c = 0, i = first; c < p.output_dim; ++c, i += step) {
    // A channel outside of the map is at least 2^31, or beyond the last tile's end.
    const unsigned channel =
        static_cast<unsigned>(t.mapping[i]) - static_cast<unsigned>(tile.begin);
    if (channel >= size || channel % blockDim.x != threadIdx.x) continue;
    for (int x = tile.columns.begin; x < tile.columns.end; ++x) {
      if (!bin.columns.Has(x)) continue;
      sums[(x - tile.columns.begin) * tile.stride + channel] += t.top_grad[i] * scale;
    }
  }
}

// The fallback for custom mappings: writes the sums of a tile, RoI by RoI. Ends with a barrier.
template <bool kNchw = false>
__device__ void SumCustomMapping(const Problem& p, const Gradients& t, const SumTile& tile,
                                 float* sums) {
  __syncthreads();
  for (int i = threadIdx.x; i < tile.columns.size() * tile.stride; i += blockDim.x) sums[i] = 0;
  __syncthreads();
  for (int r = 0; r < p.rois; ++r) {
    const Place place = LoadPlace(p, t.rois, r);
    for (int ph = 0; ph < p.group; ++ph) {
      const Span rows = place.MapRows(p, ph);
      if (!rows.Has(tile.row)) continue;
      for (int pw = 0; pw < p.group; ++pw) {
        const auto first = static_cast<int>(  // below 2^31
            ElementLayout<kNchw>::Pooled(p, r, int64_t{ph} * p.group + pw, 0));
        AddElements(p, t, first, static_cast<int>(ElementLayout<kNchw>::PooledStep(p)),
                    {rows, place.Columns(p, pw)}, tile, sums);
      }
    }
  }
  __syncthreads();
}

inline __device__ void WriteElement(float* to, float value, bool add) {
  *to = add ? *to + value : value;
}

// Writes 16 bytes at a time: `sums` have the offset of `to` from a multiple of 16 bytes.
inline __device__ void WriteSums(const float* sums, int size, bool add, float* __restrict__ to) {
  const int head = min((4 - ShiftOf(to)) % 4, size), quads = add ? 0 : (size - head) / 4;
  for (int i = static_cast<int>(threadIdx.x); i < quads; i += blockDim.x) {
    reinterpret_cast<float4*>(to + head)[i] = reinterpret_cast<const float4*>(sums + head)[i];
  }
  if (static_cast<int>(threadIdx.x) < head) WriteElement(to + threadIdx.x, sums[threadIdx.x], add);
  for (int i = head + 4 * quads + static_cast<int>(threadIdx.x); i < size; i += blockDim.x) {
    WriteElement(to + i, sums[i], add);
  }
}

#endif  // __CUDACC__

}  // namespace mluop::psroipool
