// SPDX-License-Identifier: Apache-2.0
#include "mlu/memory.h"

#include <sys/mman.h>

#include <mutex>
#include <new>

namespace bang {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kGdramAlignment = 256;
constexpr size_t kOnChipAlignment = 64;
// A source may declare a buffer of the whole memory for each of its kernels.
constexpr size_t kMostBuffers = 16;
constexpr size_t kGuards = 1024 * kPage;

constexpr size_t RoundUp(size_t value, size_t step) { return (value + step - 1) / step * step; }

// Returns inaccessible pages, or NULL.
char* Reserve(size_t bytes) {
  void* const map =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return map == MAP_FAILED ? nullptr : static_cast<char*>(map);
}

}  // namespace

const Block* Memory::Find(const void* pointer) const {
  const std::shared_lock lock(mutex_);
  const char* const p = static_cast<const char*>(pointer);
  const auto found = blocks_.lower_bound(p);  // the last block that begins at p or before it
  const bool contains = found != blocks_.end() && p <= found->second.begin + found->second.bytes;
  return contains ? &found->second : nullptr;
}

Gdram& GetGdram() {
  static Gdram* const gdram = new Gdram;  // never destroyed: programs free memory at exit
  return *gdram;
}

void* Gdram::Allocate(size_t bytes) {
  if (bytes > (size_t{1} << 46)) return nullptr;
  const size_t padded = RoundUp(std::max<size_t>(bytes, 1), kGdramAlignment);
  const size_t page_bytes = RoundUp(padded, kPage);
  char* const map = Reserve(page_bytes + 2 * kPage);
  if (map == nullptr) return nullptr;
  char* const pages = map + kPage;
  char* const begin = pages + page_bytes - padded;  // ends at an inaccessible page
  const std::unique_lock lock(mutex_);
  blocks_[begin] = {"its allocation", begin, bytes, nullptr, Where(), 0, pages, page_bytes};
  if (users_ > 0) mprotect(pages, page_bytes, PROT_READ | PROT_WRITE);
  return begin;
}

bool Gdram::Free(void* pointer) {
  const std::unique_lock lock(mutex_);
  const auto found = blocks_.find(static_cast<char*>(pointer));
  if (found == blocks_.end()) return false;
  munmap(found->second.pages - kPage, found->second.page_bytes + 2 * kPage);
  blocks_.erase(found);
  return true;
}

bool Gdram::Access(std::initializer_list<Range> ranges, const std::function<void()>& body) {
  for (const Range& range : ranges) {
    const Block* const block = Find(range.begin);
    if (block != nullptr && range.size() > block->BytesFrom(range.begin)) return false;
  }
  AddUser(1);
  body();
  AddUser(-1);
  return true;
}

void Gdram::AddUser(int change) {
  const std::unique_lock lock(mutex_);
  users_ += change;
  const int access = users_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  for (const auto& [begin, block] : blocks_) mprotect(block.pages, block.page_bytes, access);
}

OnChipMemory::OnChipMemory(Space its_space, size_t usable)
    : Memory(its_space, RoundUp(usable * kMostBuffers + kGuards, kPage)),
      limit(usable),
      map_(Reserve(2 * states_)) {
  if (map_ == nullptr) throw std::bad_alloc();
}

OnChipMemory::~OnChipMemory() { munmap(map_, 2 * states_); }

const uint8_t* OnChipMemory::FindUnwritten(const Range& range) const {
  uint8_t* const states = StateOf(range.begin);
  const size_t bytes = range.size();
  // The common case: all states are equal to the first one.
  if (states[0] == kWritten && std::memcmp(states, states + 1, bytes - 1) == 0) return nullptr;
  const uint8_t* first = nullptr;
  for (size_t i = 0; i < bytes; ++i) {
    if (states[i] == kWritten) continue;
    const size_t phase = reinterpret_cast<uintptr_t>(range.begin + i) % 4;
    const size_t begin = i - std::min(i, phase), end = std::min(bytes, i - phase + 4);
    bool is_poison = true;
    for (size_t k = begin; k < end; ++k)
      is_poison &= states[k] == kWritten || range.begin[k] == static_cast<char>(kPoison);
    if (!is_poison) std::memset(states + begin, kWritten, end - begin);
    if (is_poison && first == nullptr) first = states + i;
    i = end - 1;
  }
  return first;
}

char* OnChipMemory::Declare(const void* key, const char* name, size_t bytes, Where where) {
  const std::unique_lock lock(mutex_);
  for (const auto& [begin, known] : blocks_) {
    if (known.key == key) return known.begin;
  }
  const size_t pages = RoundUp(bytes, kPage);
  if (next_ + 2 * kPage + pages > states_) return nullptr;
  char* const first = map_ + next_ + kPage;
  for (char* const map : {first, first + states_}) {
    if (mprotect(map, pages, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  next_ += kPage + pages;
  // The variable ends at an inaccessible page.
  char* const begin = first + pages - RoundUp(bytes, kOnChipAlignment);
  blocks_[begin] = {name, begin, bytes, key, where};
  std::memset(begin, kPoison, bytes);
  return begin;
}

void OnChipMemory::Poison() {
  for (const auto& [begin, variable] : blocks_) {
    std::memset(variable.begin, kPoison, variable.bytes);
    std::memset(StateOf(begin), kUnwritten, variable.bytes);
  }
}

size_t OnChipMemory::Touch(const Block& variable, const char* end) {
  const std::unique_lock lock(mutex_);
  size_t& peak = blocks_[variable.begin].peak;
  if (peak == 0) used_ += variable.bytes;
  peak = std::max(peak, static_cast<size_t>(end - variable.begin));
  return used_;
}

}  // namespace bang
