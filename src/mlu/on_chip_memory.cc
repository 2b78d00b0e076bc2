// SPDX-License-Identifier: Apache-2.0
#include "mlu/on_chip_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace bang {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 64;
// A source may declare a buffer of the whole memory for each of its kernels.
constexpr size_t kMostBuffers = 16;
constexpr size_t kGuards = 1024 * kPage;

constexpr size_t RoundUp(size_t value, size_t step) { return (value + step - 1) / step * step; }

}  // namespace

Mapping::Mapping(size_t bytes) : size_(RoundUp(bytes, kPage)) {
  void* const map =
      mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<char*>(map);
}

Mapping::~Mapping() { munmap(data_, size_); }

void Mapping::Open(size_t offset, size_t bytes) {
  const size_t begin = offset / kPage * kPage;
  const size_t end = RoundUp(offset + bytes, kPage);
  if (mprotect(data_ + begin, end - begin, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
}

OnChipMemory::OnChipMemory(Space space, size_t limit)
    : space_(space),
      limit_(limit),
      map_(limit * kMostBuffers + kGuards),
      state_(limit * kMostBuffers + kGuards) {}

char* OnChipMemory::Declare(const void* key, const char* name, size_t bytes, Where where) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const OnChipVariable& known : variables_) {
    if (known.key == key) return known.begin;
  }
  const size_t pages = RoundUp(bytes, kPage);
  if (next_ + 2 * kPage + pages > map_.size()) return nullptr;
  // The variable ends at an inaccessible page.
  const size_t begin = next_ + kPage + pages - RoundUp(bytes, kAlignment);
  map_.Open(next_ + kPage, pages);
  state_.Open(next_ + kPage, pages);
  next_ += kPage + pages;
  variables_.push_back({key, name, where, map_.data() + begin, bytes});
  std::memset(map_.data() + begin, kPoison, bytes);
  std::memset(state_.data() + begin, 0, bytes);
  return map_.data() + begin;
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
  mine.peak =
      std::max(mine.peak, static_cast<size_t>(static_cast<const char*>(end) - variable.begin));
  return used_;
}

size_t OnChipMemory::peak() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t sum = 0;
  for (const OnChipVariable& variable : variables_) sum += variable.peak;
  return sum;
}

}  // namespace bang
