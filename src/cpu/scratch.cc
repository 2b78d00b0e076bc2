// SPDX-License-Identifier: Apache-2.0
#include "cpu/scratch.h"

#include <sys/mman.h>

#include <memory>
#include <new>

namespace mluop {

constexpr size_t kHugePage = size_t{2} << 20;

void* AllocateAligned(size_t bytes) {
  if (bytes > PTRDIFF_MAX) return nullptr;  // rounding up in operator new would overflow
  void* pointer = ::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow);
  if (pointer == nullptr || bytes < 2 * kHugePage) return pointer;
  void* first = pointer;
  size_t rest = bytes;
  std::align(kHugePage, kHugePage, first, rest);
  // A hint only: without huge pages the system uses ordinary ones.
  static_cast<void>(madvise(first, rest / kHugePage * kHugePage, MADV_HUGEPAGE));
  return pointer;
}

void FreeAligned(void* pointer) { ::operator delete (pointer, std::align_val_t{kAlignment}); }

void* Scratch::Reserve(size_t bytes) {
  if (bytes <= size_) return data_;
  void* grown = AllocateAligned(bytes);
  if (grown == nullptr) return nullptr;
  FreeAligned(data_);
  data_ = grown;
  size_ = bytes;
  return data_;
}

}  // namespace mluop
