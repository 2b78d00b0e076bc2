// SPDX-License-Identifier: Apache-2.0
// The inline assembly of kernels, except for cuda/pdl.h, and their dynamic shared memory. The
// emulation of tests/cuda_emulation replaces this header.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)

#include <cuda_fp16.h>

#include <bit>

namespace mluop {

// The block's dynamic shared memory. The alignment is that of load_matrix_sync.
template <typename T>
__device__ T* DynamicShared() {
  extern __shared__ __align__(32) unsigned char dynamic_shared[];
  return reinterpret_cast<T*>(dynamic_shared);
}

// The address of LoadSharedIf.
__device__ inline uint32_t SharedAddress(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

__device__ inline void PrefetchL2(const void* line) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
}

// Stops the compiler from recomputing or splitting values: it must take them from registers.
__device__ inline void KeepInRegisters(int& a, int& b, float& c, float& d) {
  asm("" : "+r"(a), "+r"(b), "+f"(c), "+f"(d));
}
template <typename T>
__device__ void KeepInRegisters(const T*& first, const T*& second) {
  asm("" : "+l"(first), "+l"(second));
}
// Also stops it from using what it knows of the value.
__device__ inline void KeepInRegisters(int64_t& value) { asm volatile("" : "+l"(value)); }

// Loads two words through the read-only cache if `offset` is not `loaded`. Branch-free: predicated
// loads leave the registers unchanged.
__device__ inline void LoadGlobalIf(int offset, int loaded, const void* x_from, const void* y_from,
                                    uint4& x, uint4& y) {
  asm volatile(
      "{.reg .pred needed;\n"
      "setp.ne.s32 needed, %8, %9;\n"
      "@needed ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%10];\n"
      "@needed ld.global.nc.v4.b32 {%4, %5, %6, %7}, [%11];\n}"
      : "+r"(x.x), "+r"(x.y), "+r"(x.z), "+r"(x.w), "+r"(y.x), "+r"(y.y), "+r"(y.z), "+r"(y.w)
      : "r"(offset), "r"(loaded), "l"(x_from), "l"(y_from));
}
// The same from shared memory, by SharedAddress.
__device__ inline void LoadSharedIf(int offset, int loaded, uint32_t x_from, uint32_t y_from,
                                    uint4& x, uint4& y) {
  asm volatile(
      "{.reg .pred needed;\n"
      "setp.ne.s32 needed, %8, %9;\n"
      "@needed ld.shared.v4.b32 {%0, %1, %2, %3}, [%10];\n"
      "@needed ld.shared.v4.b32 {%4, %5, %6, %7}, [%11];\n}"
      : "+r"(x.x), "+r"(x.y), "+r"(x.z), "+r"(x.w), "+r"(y.x), "+r"(y.y), "+r"(y.z), "+r"(y.w)
      : "r"(offset), "r"(loaded), "r"(x_from), "r"(y_from));
}

// Adds to four sums in global memory, atomically each. `to` is aligned to 16 bytes.
__device__ inline void AtomicAddFour(float* to, const float (&values)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
               "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3])
               : "memory");
#else
  for (int i = 0; i < 4; ++i) atomicAdd(to + i, values[i]);
#endif
}

// Adds to two sums in global memory, atomically each. `to` is aligned to 4 bytes.
__device__ inline void AtomicAddTwo(__half* to, __half first, __half second) {
  const uint32_t pair = std::bit_cast<uint16_t>(first) | uint32_t{std::bit_cast<uint16_t>(second)}
                                                             << 16;
  asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(pair)
               : "memory");
}

}  // namespace mluop

#endif
