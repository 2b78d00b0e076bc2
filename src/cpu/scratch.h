// SPDX-License-Identifier: Apache-2.0
// The library's own allocations. All use operator new, so that a test can make each one fail.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mluop {

// The maximum size of a vector or cache line in bytes.
inline constexpr size_t kAlignment = 64;

// Returns memory aligned to kAlignment; NULL if out of memory. Requests huge pages for large
// blocks.
void* AllocateAligned(size_t bytes);
void FreeAligned(void* pointer);

// Scratch of a handle: kept between calls, grown when a call needs more.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch() { FreeAligned(data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Returns at least `bytes` of uninitialised memory. If out of memory, returns NULL and keeps the
  // old block.
  void* Reserve(size_t bytes);

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

// Divides a block into arrays, one after the other, each aligned to kAlignment. With a NULL
// block, Take() returns NULL and bytes() counts the size.
class ScratchArrays {
 public:
  explicit ScratchArrays(void* block) : block_(static_cast<char*>(block)) {}

  // Returns the next array, uninitialised; NULL without a block.
  template <typename T>
  T* Take(int64_t count) {
    const size_t begin = bytes_;
    bytes_ += (static_cast<size_t>(count) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return block_ == nullptr ? nullptr : reinterpret_cast<T*>(block_ + begin);
  }

  size_t bytes() const { return bytes_; }

 private:
  char* block_;
  size_t bytes_ = 0;
};

}  // namespace mluop
