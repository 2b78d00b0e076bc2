// SPDX-License-Identifier: Apache-2.0
// Memory between two inaccessible pages: an access out of bounds faults immediately.
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

  // Makes writes fault too.
  void MakeReadOnly();
  // Fills with 0xFF, a NaN in every type, so that elements that a kernel does not write are
  // detected.
  void Poison();

 private:
  char* map_ = nullptr;
  size_t map_size_ = 0;
  size_t size_;
  char* data_ = nullptr;
};

}  // namespace mluop::testing
