// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch (Grid::pdl): kernels of one call that overlap. The first kernel of
// a call starts after all earlier work, so its successors may read the call's inputs immediately.
// All their threads must call WaitForPredecessor() before they read the output of an earlier kernel
// of the call, and before they write. Such output must be neither __restrict__ nor read by __ldg,
// because both require that it does not change while the kernel runs.
#pragma once

namespace mluop {

#if defined(__CUDACC__)

// Waits until the preceding kernel and all earlier work have ended and their writes are visible.
__device__ inline void WaitForPredecessor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Allows the next kernel to start once all blocks have called this or ended.
__device__ inline void TriggerDependents() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#endif

}  // namespace mluop
