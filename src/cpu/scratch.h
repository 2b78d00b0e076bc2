// SPDX-License-Identifier: Apache-2.0
// Memory of the library's own. All of it comes from operator new, so that a test can make every
// allocation fail.
#pragma once

#include <cstddef>

namespace mluop {

// Vectors and cache lines are at most this long.
inline constexpr size_t kAlignment = 64;

// Aligned to kAlignment; NULL when there is no memory. Large blocks ask for huge pages.
void* AllocateAligned(size_t bytes);
void FreeAligned(void* pointer);

// Scratch of a handle: kept from call to call, grown when a call wants more.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch() { FreeAligned(data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // At least `bytes`, with contents of no meaning; NULL when there is no memory, and what was there
  // before stays.
  void* Reserve(size_t bytes);

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace mluop
