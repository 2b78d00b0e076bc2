// SPDX-License-Identifier: Apache-2.0
// Reads and writes memory at the full speed of the machine: the floor of an operator's time.
#pragma once

#include <cstddef>
#include <vector>

#include "cpu/thread_pool.h"

namespace mluop::tool {

// The memory blocks that a call reads and writes.
struct Traffic {
  struct Read {
    const char* data;
    size_t bytes;
  };
  struct Write {
    char* data;
    size_t bytes;
  };
  std::vector<Read> reads;
  std::vector<Write> writes;

  size_t Bytes() const;
};

// The instructions that move bytes. The fastest mode depends on the size and the cache state.
struct AccessMode {
  bool non_temporal;  // stores bypass the caches
  bool prefetch;      // prefetches reads in software
};
inline constexpr AccessMode kAccessModes[] = {
    {false, false}, {false, true}, {true, false}, {true, true}};

// Reads and writes every byte once on all threads. Traverses all blocks together.
void Move(const Traffic& traffic, AccessMode mode, ThreadPool& threads);

// Flushes all cache lines of the blocks.
void Flush(const Traffic& traffic);

}  // namespace mluop::tool
