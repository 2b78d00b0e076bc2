// SPDX-License-Identifier: Apache-2.0
// cub::BlockScan: exclusive sums over the threads of a block.
#pragma once

#include <cuda_runtime.h>

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_WARP_SCANS };

template <class T, int kThreads, BlockScanAlgorithm = BLOCK_SCAN_RAKING>
class BlockScan {
 public:
  // The values of the threads, then the sums up to and with each thread.
  struct TempStorage {
    T sums[kThreads];
  };
  explicit BlockScan(TempStorage& storage) : sums_(storage.sums) {}

  void ExclusiveSum(T value, T& before, T& all, Place place = Place::Here()) {
    const unsigned thread = threadIdx.x;
    if (blockDim.x != kThreads) emulation::Fail("BlockScan for another number of threads", place);
    sums_[thread] = value;
    __syncthreads(place);
    for (unsigned i = 1; thread == 0 && i < kThreads; ++i) sums_[i] += sums_[i - 1];
    __syncthreads(place);
    before = thread == 0 ? T{0} : sums_[thread - 1];
    all = sums_[kThreads - 1];
  }
  void ExclusiveSum(T value, T& before, Place place = Place::Here()) {
    T all;
    ExclusiveSum(value, before, all, place);
  }

 private:
  T* sums_;
};

}  // namespace cub
