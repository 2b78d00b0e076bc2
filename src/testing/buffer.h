// SPDX-License-Identifier: Apache-2.0
// Memory with an inaccessible page at either end: whatever touches a byte outside dies at once.
#pragma once

#include <cstddef>

namespace mluop::testing {

enum class Placement {
  kFront,  // the first byte follows the inaccessible page
  kBack,   // the last byte precedes the inaccessible page
};

class GuardedBuffer {
 public:
  GuardedBuffer(size_t bytes, Placement placement);  // throws std::bad_alloc
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;

  void* data() const { return data_; }
  size_t size() const { return size_; }

  // From here on a write dies too.
  void MakeReadOnly();
  // All bytes 0xFF, a NaN in every type: what a kernel leaves out shows.
  void Poison();

 private:
  char* map_ = nullptr;
  size_t map_size_ = 0;
  size_t size_;
  char* data_ = nullptr;
};

}  // namespace mluop::testing
