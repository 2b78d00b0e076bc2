// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch (Grid::pdl): kernels of one call that overlap. The first kernel of a
// call starts after all earlier work, so its successors may read the call's inputs at once. Before
// they read what an earlier kernel of the call writes, and before they write anything, all their
// threads call WaitForPredecessor(). What an earlier kernel writes must be neither __restrict__ nor
// read by __ldg: both promise that it does not change while the kernel runs.
#pragma once

namespace mluop {

#if defined(__CUDACC__)

// Blocks until the preceding kernel, and with it all earlier work, has ended and its writes are
// visible.
__device__ inline void WaitForPredecessor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel start once all blocks have called this or ended.
__device__ inline void TriggerDependents() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#endif

}  // namespace mluop
