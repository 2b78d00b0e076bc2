// SPDX-License-Identifier: Apache-2.0
// Model of handles, queues and notifiers (live_handles.h).
#include "tests/fuzz/live_handles.h"

#include <algorithm>
#include <vector>

#include "mluops/extensions.h"
#include "mluops/runtime.h"
#include "tests/fuzz/status_checks.h"

namespace mluop::fuzz {
namespace {

constexpr int kMaxThreads = 1024;

}  // namespace

LiveHandles::~LiveHandles() {
  for (const Record& record : records_) {
    if (record.handle != nullptr) RequireStatus(true, mluOpDestroy(record.handle), "mluOpDestroy");
  }
  for (cnrtQueue_t queue : queues_) {
    if (queue != nullptr) RequireResult(true, cnrtQueueDestroy(queue), "cnrtQueueDestroy");
  }
}

void LiveHandles::Step(Bytes& bytes) {
  Record& record = records_[bytes.Below(kCount)];
  switch (bytes.Below(7)) {
    case 0: CreateOrDestroy(record, bytes); break;
    case 1: CreateOrDestroyQueue(queues_[bytes.Below(kCount)], bytes); break;
    case 2: SetQueue(record, bytes); break;
    case 3: SetMode(record, bytes); break;
    case 4: SetThreads(record, bytes); break;
    case 5: Transpose(record, bytes); break;
    default: Check(record);
  }
}

void LiveHandles::CreateOrDestroy(Record& record, Bytes& bytes) {
  if (record.handle != nullptr) {
    RequireStatus(true, mluOpDestroy(record.handle), "mluOpDestroy");
    record = {};
    return;
  }
  if (bytes.OneIn(8)) {
    RequireStatus(false, mluOpCreate(nullptr), "mluOpCreate");
    RequireStatus(false, mluOpDestroy(nullptr), "mluOpDestroy");
    return;
  }
  RequireStatus(true, mluOpCreate(&record.handle), "mluOpCreate");
  Check(record);
}

// Unsets a queue in all handles before it is destroyed.
void LiveHandles::CreateOrDestroyQueue(cnrtQueue_t& queue, Bytes& bytes) {
  if (bytes.OneIn(8)) {
    RequireResult(false, cnrtQueueCreate(nullptr), "cnrtQueueCreate");
    RequireResult(false, cnrtQueueDestroy(nullptr), "cnrtQueueDestroy");
  } else if (queue == nullptr) {
    RequireResult(true, cnrtQueueCreate(&queue), "cnrtQueueCreate");
  } else {
    for (Record& record : records_) {
      if (record.queue != queue) continue;
      RequireStatus(true, mluOpSetQueue(record.handle, nullptr), "mluOpSetQueue");
      record.queue = nullptr;
    }
    RequireResult(true, cnrtQueueDestroy(queue), "cnrtQueueDestroy");
    queue = nullptr;
  }
}

void LiveHandles::SetQueue(Record& record, Bytes& bytes) {
  cnrtQueue_t queue = AnyQueue(bytes);
  const bool legal = record.handle != nullptr;
  RequireStatus(legal, mluOpSetQueue(record.handle, queue), "mluOpSetQueue");
  if (legal) record.queue = queue;
  RequireResult(true, cnrtQueueSync(queue), "cnrtQueueSync");
}

void LiveHandles::SetMode(Record& record, Bytes& bytes) {
  const int value = bytes.OneIn(4) ? static_cast<int>(bytes.Integer()) : bytes.Below(4);
  const bool present = record.handle != nullptr;
  if (bytes.OneIn(2)) {
    const bool legal = present && (value == 1 || value == 2);
    RequireStatus(legal, mluOpSetAtomicsMode(record.handle, static_cast<mluOpAtomicsMode_t>(value)),
                  "mluOpSetAtomicsMode");
    if (legal) record.atomics = value;
  } else {
    const bool legal = present && value >= 0 && value <= 2;
    RequireStatus(
        legal,
        mluOpSetQuantizeRoundMode(record.handle, static_cast<mluOpQuantizeRoundMode_t>(value)),
        "mluOpSetQuantizeRoundMode");
    if (legal) record.rounding = value;
  }
}

void LiveHandles::SetThreads(Record& record, Bytes& bytes) {
  const bool present = record.handle != nullptr;
  if (bytes.OneIn(4)) {
    RequireStatus(present, mluOpUpdateContextInformation(record.handle),
                  "mluOpUpdateContextInformation");
    record.threads = kThreads;
    return;
  }
  const int threads = bytes.OneIn(2) ? static_cast<int>(bytes.Integer()) : bytes.Below(4);
  const bool legal = present && threads >= 1 && threads <= kMaxThreads;
  RequireStatus(legal, mluOpSetNumThreads(record.handle, threads), "mluOpSetNumThreads");
  if (legal) record.threads = threads;
}

void LiveHandles::Check(const Record& record) const {
  const bool present = record.handle != nullptr;
  cnrtQueue_t queue = nullptr;
  mluOpAtomicsMode_t atomics = MLUOP_ATOMICS_NOT_ALLOWED;
  mluOpQuantizeRoundMode_t rounding = MLUOP_ROUND_HALF_TO_EVEN;
  int threads = 0;
  RequireStatus(present, mluOpGetQueue(record.handle, &queue), "mluOpGetQueue");
  RequireStatus(present, mluOpGetAtomicsMode(record.handle, &atomics), "mluOpGetAtomicsMode");
  RequireStatus(present, mluOpGetQuantizeRoundMode(record.handle, &rounding),
                "mluOpGetQuantizeRoundMode");
  RequireStatus(present, mluOpGetNumThreads(record.handle, &threads), "mluOpGetNumThreads");
  Require(!present || (queue == record.queue && static_cast<int>(atomics) == record.atomics &&
                       static_cast<int>(rounding) == record.rounding && threads == record.threads),
          "the getters must return the set values", "handle");
  RequireStatus(false, mluOpGetQueue(record.handle, nullptr), "mluOpGetQueue");
  RequireStatus(false, mluOpGetAtomicsMode(record.handle, nullptr), "mluOpGetAtomicsMode");
  RequireStatus(false, mluOpGetQuantizeRoundMode(record.handle, nullptr),
                "mluOpGetQuantizeRoundMode");
  RequireStatus(false, mluOpGetNumThreads(record.handle, nullptr), "mluOpGetNumThreads");
}

// Runs a small transpose, which must succeed in any state of the handle.
void LiveHandles::Transpose(const Record& record, Bytes& bytes) const {
  const int rows = 1 + bytes.Below(5), columns = 1 + bytes.Below(5);
  const int from_dims[] = {1, rows, columns}, to_dims[] = {1, columns, rows};
  mluOpTensorDescriptor_t from_desc = nullptr, to_desc = nullptr;
  mluOpTensorDescriptor_t* group[] = {&from_desc, &to_desc};
  RequireStatus(true, mluOpCreateGroupTensorDescriptors(group, 2),
                "mluOpCreateGroupTensorDescriptors");
  mluOpSetTensorDescriptor(from_desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, from_dims);
  mluOpSetTensorDescriptor(to_desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, to_dims);
  std::vector<float> from(static_cast<size_t>(rows) * columns), to(from.size(), -1);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  const bool legal = record.handle != nullptr && record.threads <= kMaxThreadsOfACall;
  if (legal || record.handle == nullptr) {
    const mluOpStatus_t status =
        mluOpTranspose(record.handle, from_desc, from.data(), to_desc, to.data());
    Require((status == MLUOP_STATUS_SUCCESS) == legal, "must succeed on any handle", "transpose");
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) {
        const float wanted = legal ? static_cast<float>(r * columns + c) : -1;
        Require(to[static_cast<size_t>(c) * rows + r] == wanted, "must be right", "transpose");
      }
    }
  }
  RequireStatus(true, mluOpDestroyGroupTensorDescriptors(group, 2),
                "mluOpDestroyGroupTensorDescriptors");
}

}  // namespace mluop::fuzz
