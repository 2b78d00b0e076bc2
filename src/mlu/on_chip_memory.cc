// SPDX-License-Identifier: Apache-2.0
#include "mlu/on_chip_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "mlu/pages.h"

namespace bang {
namespace {

constexpr size_t kAlignment = 64;
// A source may declare a buffer of the whole memory for each of its kernels.
constexpr size_t kMostBuffers = 16;
constexpr size_t kGuards = 1024 * kPage;

}  // namespace

OnChipMemory::OnChipMemory(Space space, size_t limit)
    : space_(space), limit_(limit), size_(RoundUp(limit * kMostBuffers + kGuards, kPage)) {
  void* const map =
      mmap(nullptr, 2 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  map_ = static_cast<char*>(map);
}

OnChipMemory::~OnChipMemory() { munmap(map_, 2 * size_); }

char* OnChipMemory::Declare(const void* key, const char* name, size_t bytes, Where where) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const OnChipVariable& known : variables_) {
    if (known.key == key) return known.begin;
  }
  const size_t pages = RoundUp(bytes, kPage);
  if (next_ + 2 * kPage + pages > size_) return nullptr;
  char* const first = map_ + next_ + kPage;
  for (char* const map : {first, first + size_}) {
    if (mprotect(map, pages, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  next_ += kPage + pages;
  // The variable ends at an inaccessible page.
  char* const begin = first + pages - RoundUp(bytes, kAlignment);
  variables_.push_back({key, name, where, begin, bytes});
  std::memset(begin, kPoison, bytes);
  std::memset(StateOf(begin), 0, bytes);
  return begin;
}

void OnChipMemory::Poison() {
  for (const OnChipVariable& variable : variables_) {
    std::memset(variable.begin, kPoison, variable.bytes);
    std::memset(StateOf(variable.begin), 0, variable.bytes);
  }
}

const OnChipVariable* OnChipMemory::Find(const void* pointer) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const char* const p = static_cast<const char*>(pointer);
  for (const OnChipVariable& variable : variables_) {
    if (p >= variable.begin && p < variable.begin + variable.bytes) return &variable;
  }
  return nullptr;
}

size_t OnChipMemory::Touch(const OnChipVariable& variable, const void* end) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& mine = const_cast<OnChipVariable&>(variable);
  if (mine.peak == 0) used_ += mine.bytes;
  mine.peak = std::max(mine.peak, mine.bytes - mine.BytesFrom(end));
  return used_;
}

size_t OnChipMemory::peak() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t sum = 0;
  for (const OnChipVariable& variable : variables_) sum += variable.peak;
  return sum;
}

}  // namespace bang
