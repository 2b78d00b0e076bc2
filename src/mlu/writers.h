// SPDX-License-Identifier: Apache-2.0
// Detects cores that access the same bytes of GDRAM or SRAM in one launch without a barrier between
// the accesses. Each byte keeps the core that wrote it last and, in SRAM, the one that read it last.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "mlu/memory.h"

namespace bang {

// A core between two barriers.
struct Epoch {
  int job;
  int cluster;  // in the job
  int core;     // in the job, memory cores included
  int task;     // -1 on the memory core
  unsigned job_barriers = 0;
  unsigned cluster_barriers = 0;

  // Whether this access is ordered before an access in `later` of the same job.
  bool IsBefore(const Epoch& later) const {
    return core == later.core || job_barriers < later.job_barriers ||
           (cluster == later.cluster && cluster_barriers < later.cluster_barriers);
  }
  std::string Name() const { return task < 0 ? "the memory core" : "task " + std::to_string(task); }
};

enum class Access : uint8_t { kRead, kWrite, kAtomic };

class Writers {
 public:
  // Returns the number of an epoch, for Touch.
  uint16_t Begin(const Epoch& epoch);

  // Records an access to a range of a block. Returns another core whose access is not ordered
  // before this one, or NULL.
  const Epoch* Touch(const Block& block, bool is_sram, const Range& range, uint16_t epoch,
                     Access access);

 private:
  struct Shadow {
    std::shared_ptr<uint16_t> writers, readers;  // of each byte
  };
  // Returns the first epoch in [first, last) that is not ordered before `me`; marks the range.
  const Epoch* Scan(uint16_t* first, uint16_t* last, uint16_t me, bool is_sram, bool mark,
                    bool atomic);

  std::mutex mutex_;
  std::map<const char*, Shadow> shadows_;  // by the begin of a block
  // Number 0: not accessed. A deque, because callers keep pointers to epochs while others begin.
  std::deque<Epoch> epochs_ = {{}};
};

}  // namespace bang
