// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im on CUDA devices: the operators, each defined in its own file.
// Their kernels share vector loads and stores of elements, and the mask pointers.
#pragma once

#include <bit>

#include "cuda/context.h"
#include "cuda/ptx.h"
#include "cuda/words.h"
#include "ops/masked_im2col/cuda/tuning.h"
#include "ops/masked_im2col/problem.h"

namespace mluop::masked_im2col {

extern const CudaOperator kForwardCuda, kBackwardCuda, kCol2imCuda, kCol2imBackwardCuda;

// The workspace that masked_col2im_forward asks for.
size_t Col2imCudaBytes(const Arguments& arguments);

inline bool IsHalf(const Arguments& a) { return a.Type() == MLUOP_DTYPE_HALF; }
inline size_t ElementBytes(const Arguments& a) { return IsHalf(a) ? 2 : 4; }

// Calls launch(T{0}), where T is the unsigned integer of the element size, because copies are
// bitwise. Returns the call's status.
template <class Launch>
mluOpStatus_t WithBits(const CudaCall<Problem>& call, const Launch& launch) {
  IsHalf(call.arguments) ? launch(uint16_t{0}) : launch(uint32_t{0});
  return call.context.status();
}
// The same for fallbacks, which serve double too.
template <class Launch>
mluOpStatus_t WithAnyBits(const CudaCall<Problem>& call, const Launch& launch) {
  if (call.arguments.Type() != MLUOP_DTYPE_DOUBLE) return WithBits(call, launch);
  launch(uint64_t{0});
  return call.context.status();
}

// Threads of a block for `work` items, whole warps.
inline int ThreadsFor(int64_t work, int most) {
  const int64_t threads = CeilDiv(work, 32) * 32;
  return static_cast<int>(threads < 64 ? 64 : threads > most ? most : threads);
}

struct Masks {
  const int32_t* h;
  const int32_t* w;

  // Returns true if `count` masks can be read in aligned groups of V.
  bool CanVectorize(int64_t count, int V) const {
    const size_t bytes = sizeof(int32_t) * static_cast<size_t>(V < 4 ? V : 4);
    return count % V == 0 && IsAligned(h, bytes) && IsAligned(w, bytes);
  }
};

inline Masks MasksOf(const Arguments& a) {
  return {a.In<int32_t>("mask_h_idx"), a.In<int32_t>("mask_w_idx")};
}

#if defined(__CUDACC__)

template <typename P, typename T>
__device__ P LoadPack(const T* from) {
  return std::bit_cast<P>(__ldg(reinterpret_cast<const Word<sizeof(P)>*>(from)));
}

// Prefetches [begin, end) to L2, at most one line per thread. The loads overlap with the loads of
// the masks.
__device__ inline void PrefetchLines(const void* begin, const void* end) {
  constexpr size_t kLine = 128;
  const char* line = static_cast<const char*>(begin) + threadIdx.x * kLine;
  if (line < end) PrefetchL2(line);
}

#endif

}  // namespace mluop::masked_im2col
