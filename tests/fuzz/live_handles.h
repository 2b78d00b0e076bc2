// SPDX-License-Identifier: Apache-2.0
// Creates, uses and destroys handles and queues, and records their expected state.
#pragma once

#include "mlu_op.h"
#include "tests/fuzz/bytes.h"

namespace mluop::fuzz {

class LiveHandles {
 public:
  static constexpr int kThreads = 2;  // of a new handle, from MLUOP_NUM_THREADS

  LiveHandles() = default;
  ~LiveHandles();  // handles first, then their queues
  LiveHandles(const LiveHandles&) = delete;
  LiveHandles& operator=(const LiveHandles&) = delete;

  // Calls one function on an existing handle or queue, or on NULL.
  void Step(Bytes& bytes);
  // An existing queue, or NULL.
  cnrtQueue_t AnyQueue(Bytes& bytes) const { return queues_[bytes.Below(kCount)]; }

 private:
  static constexpr int kCount = 4;
  static constexpr int kMaxThreadsOfACall = 8;

  struct Record {
    mluOpHandle_t handle = nullptr;
    cnrtQueue_t queue = nullptr;
    int atomics = MLUOP_ATOMICS_NOT_ALLOWED;
    int rounding = MLUOP_ROUND_HALF_TO_EVEN;
    int threads = kThreads;
  };

  void CreateOrDestroy(Record& record, Bytes& bytes);
  void CreateOrDestroyQueue(cnrtQueue_t& queue, Bytes& bytes);
  void SetQueue(Record& record, Bytes& bytes);
  void SetMode(Record& record, Bytes& bytes);
  void SetThreads(Record& record, Bytes& bytes);
  void Transpose(const Record& record, Bytes& bytes) const;
  // Checks that the getters return the set values and reject NULL.
  void Check(const Record& record) const;

  Record records_[kCount];
  cnrtQueue_t queues_[kCount] = {};
};

}  // namespace mluop::fuzz
