// SPDX-License-Identifier: Apache-2.0
#include "mlu/gdram.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "mlu/pages.h"

namespace bang {
namespace {

constexpr size_t kAlignment = 256;

// Maps `bytes` of memory twice: at allocation->map, between inaccessible pages, and at alias.
bool MapTwice(size_t bytes, Allocation* allocation) {
  const int file = memfd_create("mluops_gdram", MFD_CLOEXEC);
  if (file < 0) return false;
  void* outer = MAP_FAILED;
  void* alias = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    alias = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    outer = mmap(nullptr, bytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
  }
  void* inner = MAP_FAILED;
  if (alias != MAP_FAILED && outer != MAP_FAILED)
    inner =
        mmap(static_cast<char*>(outer) + kPage, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0);
  close(file);
  if (inner == MAP_FAILED) {
    if (alias != MAP_FAILED) munmap(alias, bytes);
    if (outer != MAP_FAILED) munmap(outer, bytes + 2 * kPage);
    return false;
  }
  allocation->map = static_cast<char*>(inner);
  allocation->alias = static_cast<char*>(alias);
  allocation->map_bytes = bytes;
  return true;
}

}  // namespace

Gdram& GetGdram() {
  static Gdram* const gdram = new Gdram;  // never destroyed: programs free memory at exit
  return *gdram;
}

void* Gdram::Allocate(size_t bytes) {
  if (bytes > (size_t{1} << 46)) return nullptr;
  auto allocation = std::make_unique<Allocation>();
  const size_t padded = RoundUp(std::max<size_t>(bytes, 1), kAlignment);
  if (!MapTwice(RoundUp(padded, kPage), allocation.get())) return nullptr;
  allocation->bytes = bytes;
  allocation->begin = allocation->map + allocation->map_bytes - padded;  // ends at the guard page
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  if (open_ > 0) mprotect(allocation->map, allocation->map_bytes, PROT_READ | PROT_WRITE);
  char* const begin = allocation->begin;
  allocations_[begin] = std::move(allocation);
  return begin;
}

bool Gdram::Free(void* pointer) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto found = allocations_.find(static_cast<char*>(pointer));
  if (found == allocations_.end()) return false;
  const Allocation& allocation = *found->second;
  munmap(allocation.alias, allocation.map_bytes);
  munmap(allocation.map - kPage, allocation.map_bytes + 2 * kPage);
  allocations_.erase(found);
  return true;
}

const Allocation* Gdram::Find(const void* pointer) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const char* const p = static_cast<const char*>(pointer);
  auto next = allocations_.upper_bound(p);
  if (next == allocations_.begin()) return nullptr;
  const Allocation& allocation = *std::prev(next)->second;
  return p <= allocation.begin + allocation.bytes ? &allocation : nullptr;
}

char* Gdram::Accessible(const void* pointer, size_t bytes) const {
  char* const p = const_cast<char*>(static_cast<const char*>(pointer));
  const Allocation* const allocation = Find(pointer);
  if (allocation == nullptr) return p;
  if (bytes > allocation->BytesFrom(p)) return nullptr;
  return allocation->alias + (p - allocation->map);
}

bool Gdram::Copy(void* to, const void* from, size_t bytes) const {
  char* const target = Accessible(to, bytes);
  const char* const source = Accessible(from, bytes);
  if (target == nullptr || source == nullptr) return false;
  std::memcpy(target, source, bytes);
  return true;
}

bool Gdram::Fill(void* pointer, int value, size_t bytes) const {
  char* const target = Accessible(pointer, bytes);
  if (target == nullptr) return false;
  std::memset(target, value, bytes);
  return true;
}

void Gdram::Protect(int protection) {
  for (const auto& [begin, allocation] : allocations_)
    mprotect(allocation->map, allocation->map_bytes, protection);
}

void Gdram::Open() {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  if (open_++ == 0) Protect(PROT_READ | PROT_WRITE);
}

void Gdram::Close() {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  if (--open_ == 0) Protect(PROT_NONE);
}

}  // namespace bang
