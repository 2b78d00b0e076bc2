// SPDX-License-Identifier: Apache-2.0
// Kernels of one call that overlap on CUDA devices (Grid::early). The first of a call begins when all
// before it has ended, so that those after it may read the call's inputs at once; before they touch
// what an earlier kernel of the call writes, and before they write anything, all their threads wait.
// What an earlier kernel writes must be neither __restrict__ nor read by __ldg: both promise that
// nobody writes it while the kernel runs.
#pragma once

namespace mluop {

#if defined(__CUDACC__)

// Until the kernel before has ended, and with it all before that: its writes are seen.
__device__ inline void AwaitKernelBefore() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next kernel may start when all blocks have come here, or ended.
__device__ inline void LetNextStart() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#endif

}  // namespace mluop
