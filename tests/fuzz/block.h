// SPDX-License-Identifier: Apache-2.0
// Memory of exactly the size that a call may access.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace mluop::fuzz {

// `size` bytes at `skew` bytes from an address of malloc. They end where the allocation ends, so AddressSanitizer reports
// any access beyond them.
class Block {
 public:
  explicit Block(size_t size, size_t skew = 0)
      : start_(static_cast<unsigned char*>(std::malloc(size + skew)), std::free),
        size_(size),
        skew_(skew) {
    std::memset(data(), 0xa5, size);
  }
  unsigned char* data() const { return start_.get() + skew_; }
  size_t size() const { return size_; }
  // Call after filling the block.
  void Remember() { before_.assign(data(), data() + size_); }
  bool Changed() const { return size_ > 0 && std::memcmp(data(), before_.data(), size_) != 0; }

 private:
  std::unique_ptr<unsigned char, decltype(&std::free)> start_;
  size_t size_;
  size_t skew_;
  std::vector<unsigned char> before_;
};

}  // namespace mluop::fuzz
