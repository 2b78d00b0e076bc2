// SPDX-License-Identifier: Apache-2.0
// Detects cores that access the same bytes of GDRAM or SRAM in one launch without a barrier between
// the accesses. Each byte keeps the core that wrote it last and, in SRAM, the one that read it last.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "bang/instruction.h"

namespace bang {

// A core between two barriers.
struct Epoch {
  int job;
  int cluster;  // in the job
  int core;     // in the job, memory cores included
  int task;     // -1 on the memory core
  unsigned job_barriers = 0;
  unsigned cluster_barriers = 0;

  // Whether this access is ordered before an access in `later`.
  bool IsBefore(const Epoch& later) const {
    if (job != later.job) return false;
    if (core == later.core || job_barriers < later.job_barriers) return true;
    return cluster == later.cluster && cluster_barriers < later.cluster_barriers;
  }
  std::string Name() const { return task < 0 ? "the memory core" : "task " + std::to_string(task); }
};

enum class Access : uint8_t { kRead, kWrite, kAtomic };

class Writers {
 public:
  // Returns the number of an epoch, for Touch.
  uint16_t Begin(const Epoch& epoch);

  // Records an access to `bytes` at `offset` of the memory `key` of `size` bytes. Returns another
  // core whose access is not ordered before this one, or NULL.
  struct Target {
    const void* key;
    size_t size;
    bool keep_readers;
  };
  const Epoch* Touch(const Target& target, size_t offset, size_t bytes, uint16_t epoch,
                     Access access);
  // Forgets the accesses to a memory.
  void Forget(const void* key);

 private:
  struct Free {
    void operator()(uint16_t* pointer) const { std::free(pointer); }
  };
  struct Shadow {
    std::unique_ptr<uint16_t, Free> writers;
    std::unique_ptr<uint16_t, Free> readers;
  };
  // Returns the first epoch in [first, last) that is not ordered before `me`; marks the range.
  const Epoch* Scan(uint16_t* first, uint16_t* last, uint16_t me, bool mark, bool atomic);

  static constexpr uint16_t kMostEpochs = 0x7fff;
  static constexpr uint16_t kAtomicBit = 0x8000;

  std::mutex mutex_;
  std::map<const void*, Shadow> shadows_;
  // Number 0: not accessed. A deque, because callers keep pointers to epochs while others begin.
  std::deque<Epoch> epochs_ = {{}};
};

}  // namespace bang
