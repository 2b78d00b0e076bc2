// SPDX-License-Identifier: Apache-2.0
// Reads a fuzzer's input as a sequence of decisions. After its end every decision is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "mluops/extensions.h"

namespace mluop::fuzz {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : next_(data), left_(size) {}

  bool empty() const { return left_ == 0; }

  template <typename T>
  T Raw() {
    T value = {};
    const size_t taken = left_ < sizeof(T) ? left_ : sizeof(T);
    if (taken > 0) std::memcpy(&value, next_, taken);
    next_ += taken;
    left_ -= taken;
    return value;
  }

  // In [0, n), n <= 65536.
  int Below(int n) { return n <= 256 ? Raw<uint8_t>() % n : Raw<uint16_t>() % n; }
  // True once in n; false after the end of the input.
  bool OneIn(int n) { return Below(n) == n - 1; }

  // Prefers small numbers and the limits of the integer types.
  int64_t Integer() {
    static constexpr int64_t kEdges[] = {INT32_MAX,        INT32_MIN, int64_t{INT32_MAX} + 1,
                                         int64_t{1} << 32, INT64_MAX, INT64_MIN,
                                         int64_t{1} << 16, -1};
    switch (Below(8)) {
      case 0: return kEdges[Below(static_cast<int>(std::size(kEdges)))];
      case 1: return (int64_t{1} << Below(63)) + Below(3) - 1;
      case 2: return Raw<int32_t>();
      case 3: return Raw<int64_t>();
      default: return Below(13) - 2;
    }
  }

 private:
  const uint8_t* next_;
  size_t left_;
};

// Aborts with a message unless `fact` is true.
inline void Require(bool fact, const char* message, const char* subject = "") {
  if (fact) return;
  std::fprintf(stderr, "%s: %s\nlast error message: %s\n", subject, message,
               mluOpGetLastErrorMessage());
  std::abort();
}

}  // namespace mluop::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
