// SPDX-License-Identifier: Apache-2.0
#include "mlu/writers.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace bang {
namespace {

constexpr uint16_t kMostEpochs = 0x7fff;
constexpr uint16_t kAtomicBit = 0x8000;

// Zeroed; the pages that are never touched cost nothing.
std::shared_ptr<uint16_t> AllocateShadow(size_t count) {
  auto* const tags = static_cast<uint16_t*>(std::calloc(count, sizeof(uint16_t)));
  if (tags == nullptr) throw std::bad_alloc();
  return {tags, std::free};
}

}  // namespace

uint16_t Writers::Begin(const Epoch& epoch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (epochs_.size() >= kMostEpochs) return 0;  // the accesses of further epochs are not recorded
  epochs_.push_back(epoch);
  return static_cast<uint16_t>(epochs_.size() - 1);
}

const Epoch* Writers::Scan(uint16_t* first, uint16_t* last, uint16_t me, bool is_sram, bool mark,
                           bool atomic) {
  const auto tag = static_cast<uint16_t>(atomic ? me | kAtomicBit : me);
  uint16_t known = tag;  // the last tag that was found to be in order
  for (uint16_t* p = first; p < last; ++p) {
    if (*p != known && *p != 0) {
      const bool both_atomic = atomic && (*p & kAtomicBit) != 0;
      const Epoch& other = epochs_[*p & ~kAtomicBit];
      // Jobs have no order, but jobs that use the same SRAM run one after the other.
      const bool is_same_job = other.job == epochs_[me].job;
      const bool in_order = is_same_job ? other.IsBefore(epochs_[me]) : is_sram;
      if (!both_atomic && !in_order) return &other;
      known = *p;
    }
    if (mark) *p = tag;
  }
  return nullptr;
}

const Epoch* Writers::Touch(const Block& block, bool is_sram, const Range& range, uint16_t epoch,
                            Access access) {
  if (epoch == 0) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_read = access == Access::kRead;
  Shadow& shadow = shadows_[block.begin];
  if (is_read && !is_sram && shadow.writers == nullptr) return nullptr;  // unwritten
  if (shadow.writers == nullptr) shadow.writers = AllocateShadow(block.bytes);
  const auto offset = range.begin - block.begin;
  uint16_t* const writers = shadow.writers.get() + offset;
  const Epoch* const other =
      Scan(writers, writers + range.size(), epoch, is_sram, !is_read, access == Access::kAtomic);
  if (other != nullptr || !is_sram) return other;
  if (shadow.readers == nullptr) shadow.readers = AllocateShadow(block.bytes);
  uint16_t* const readers = shadow.readers.get() + offset;
  if (!is_read) return Scan(readers, readers + range.size(), epoch, is_sram, false, false);
  std::fill_n(readers, range.size(), epoch);
  return nullptr;
}

}  // namespace bang
