// SPDX-License-Identifier: Apache-2.0
// Runs the threads of a block, one block after the other. A thread runs until it must wait for
// others: at a barrier, or at an intrinsic at which the lanes of a warp meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emulation {

// Names a line of a source file.
struct Place {
  const char* file = "";
  int line = 0;

  static constexpr Place Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

constexpr int kLanes = 32;

// A launch. `call` runs the kernel once, for one thread.
struct Launch {
  void (*call)(const void* kernel, void** parameters);
  const void* kernel;
  void** parameters;
  int64_t blocks;
  int threads;
  size_t shared_bytes;
};

// Runs all blocks. Returns what went wrong, or "".
std::string Run(const Launch& launch);

// The remaining functions are called by kernels.

// Waits until all threads of the block that have not ended are at the same barrier. Returns the
// number of threads that passed a value other than 0.
int Barrier(bool value, Place place);

// The values that the lanes of a warp passed to an intrinsic.
struct Met {
  uint32_t lanes;  // that took part
  uint64_t values[kLanes];
};
// Waits until all lanes in `mask` that have not ended are at the same intrinsic with the same mask.
// The result is valid until the thread's next call.
const Met& Meet(const char* intrinsic, uint32_t mask, uint64_t value, Place place);

// Ends the launch with an error.
[[noreturn]] void Fail(const std::string& message, Place place);

// The dynamic shared memory of the block.
char* DynamicShared();

// An asynchronous copy takes place when the thread waits for it.
struct AsyncCopy {
  void* to;
  const void* from;
  size_t bytes, zeros;
};
void StartCopy(const AsyncCopy& copy);
void CommitCopies();
void WaitForCopies(size_t prior);

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
extern Index thread_index, block_index, block_size, grid_size;

}  // namespace emulation
