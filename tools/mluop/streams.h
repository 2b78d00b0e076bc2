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
    // The share of cache lines that are written as zeros, spread evenly. Processors may write zeros
    // faster. Non-temporal stores of zeros reach 26 to 97 GB/s, of ones 19 to 44 GB/s (200 MB, AMD
    // EPYC, 2 threads).
    double zeros = 0;
  };
  std::vector<Read> reads;
  std::vector<Write> writes;

  size_t Bytes() const;
};

// How a stream moves bytes. The fastest mode depends on the size and the cache state.
struct AccessMode {
  bool non_temporal;   // stores bypass the caches
  bool prefetch;       // prefetches reads in software
  size_t chunk_bytes;  // a step moves a chunk of every block: as many bytes together
};
inline constexpr size_t kSmallChunk = 16 << 10, kLargeChunk = 256 << 10;
inline constexpr AccessMode kAccessModes[] = {
    {false, false, kSmallChunk}, {false, true, kSmallChunk}, {true, false, kSmallChunk},
    {true, true, kSmallChunk},   {true, false, kLargeChunk}, {true, true, kLargeChunk}};

// Reads and writes every byte once on all threads. Traverses all blocks together.
void Move(const Traffic& traffic, AccessMode mode, ThreadPool& threads);

// Flushes all cache lines of the blocks.
void Flush(const Traffic& traffic);

}  // namespace mluop::tool
