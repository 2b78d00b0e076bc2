// SPDX-License-Identifier: Apache-2.0
#include "testing/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <utility>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_NOACCESS(address, size) static_cast<void>(0)
#define VALGRIND_MAKE_MEM_UNDEFINED(address, size) static_cast<void>(0)
#endif

namespace mluop::testing {

GuardedBuffer::GuardedBuffer(size_t bytes, Placement placement) : size_(bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t inner = (bytes + page - 1) / page * page;
  map_size_ = inner + 2 * page;
  void* map =
      mmap(nullptr, map_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  map_ = static_cast<char*>(map);
  if (inner > 0 && mprotect(map_ + page, inner, PROT_READ | PROT_WRITE) != 0)
    throw std::bad_alloc();
  data_ = map_ + page + (placement == Placement::kBack ? inner - bytes : 0);
  // Marks the unused bytes of the pages as inaccessible for valgrind.
  VALGRIND_MAKE_MEM_NOACCESS(placement == Placement::kBack ? map_ + page : data_ + bytes,
                             inner - bytes);
}

GuardedBuffer::~GuardedBuffer() {
  if (map_ != nullptr) munmap(map_, map_size_);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : map_(std::exchange(other.map_, nullptr)),
      map_size_(other.map_size_),
      size_(other.size_),
      data_(other.data_) {}

void GuardedBuffer::MakeReadOnly() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (map_size_ > 2 * page) mprotect(map_ + page, map_size_ - 2 * page, PROT_READ);
}

void GuardedBuffer::Poison() {
  if (size_ > 0) std::memset(data_, 0xff, size_);
  VALGRIND_MAKE_MEM_UNDEFINED(data_, size_);  // valgrind reports uses of unwritten outputs
}

}  // namespace mluop::testing
