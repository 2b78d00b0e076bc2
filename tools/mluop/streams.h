// SPDX-License-Identifier: Apache-2.0
// Bytes moved at the machine's own speed: what an operator's time is held against.
#pragma once

#include <cstddef>
#include <vector>

#include "cpu/thread_pool.h"

namespace mluop::tool {

// Pieces of memory that are read, and pieces that are written.
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

// Ways to move bytes; which one is fastest depends on where they lie and on how many they are.
struct Way {
  bool past_caches;  // non-temporal stores
  bool ahead;        // asks for what it reads before it needs it
};
inline constexpr Way kWays[] = {{false, false}, {false, true}, {true, false}, {true, true}};

// Reads and writes every byte once, in cache lines, all pieces alike, on all threads.
void Move(const Traffic& traffic, Way way, ThreadPool& threads);

// Puts all its lines out of the caches.
void Flush(const Traffic& traffic);

}  // namespace mluop::tool
