// SPDX-License-Identifier: Apache-2.0
#include "mlu/writers.h"

#include <new>

namespace bang {

uint16_t Writers::Begin(const Epoch& epoch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (epochs_.size() >= kMostEpochs) return 0;  // the accesses of further epochs are not recorded
  epochs_.push_back(epoch);
  return static_cast<uint16_t>(epochs_.size() - 1);
}

const Epoch* Writers::Scan(uint16_t* first, uint16_t* last, uint16_t me, bool mark, bool atomic) {
  const auto tag = static_cast<uint16_t>(atomic ? me | kAtomicBit : me);
  uint16_t known = tag;  // the last tag that was found to be in order
  for (uint16_t* p = first; p < last; ++p) {
    if (*p != known && *p != 0) {
      const bool both_atomic = atomic && (*p & kAtomicBit) != 0;
      const Epoch& other = epochs_[*p & ~kAtomicBit];
      if (!both_atomic && !other.IsBefore(epochs_[me])) return &other;
      known = *p;
    }
    if (mark) *p = tag;
  }
  return nullptr;
}

const Epoch* Writers::Touch(const Target& target, size_t offset, size_t bytes, uint16_t epoch,
                            Access access) {
  if (epoch == 0) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found = shadows_.find(target.key);
  if (found == shadows_.end()) {
    if (access == Access::kRead && !target.keep_readers) return nullptr;  // unwritten
    Shadow shadow;
    const auto allocate = [&] {  // zeroed, and the pages that are never touched cost nothing
      auto* const tags = static_cast<uint16_t*>(std::calloc(target.size, sizeof(uint16_t)));
      if (tags == nullptr) throw std::bad_alloc();
      return tags;
    };
    shadow.writers.reset(allocate());
    if (target.keep_readers) shadow.readers.reset(allocate());
    found = shadows_.emplace(target.key, std::move(shadow)).first;
  }
  uint16_t* const writers = found->second.writers.get() + offset;
  const bool is_read = access == Access::kRead;
  const Epoch* other = Scan(writers, writers + bytes, epoch, !is_read, access == Access::kAtomic);
  if (other != nullptr || !target.keep_readers) return other;
  uint16_t* const readers = found->second.readers.get() + offset;
  if (!is_read) return Scan(readers, readers + bytes, epoch, false, false);
  for (size_t i = 0; i < bytes; ++i) readers[i] = epoch;
  return nullptr;
}

void Writers::Forget(const void* key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  shadows_.erase(key);
}

}  // namespace bang
