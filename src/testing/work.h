// SPDX-License-Identifier: Apache-2.0
// The minimum work of a call: the bytes that must be read and written, and the arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/arguments.h"

namespace mluop::testing {

struct Work {
  double bytes;           // each needed input byte read once, each output byte written once
  double operations = 0;  // additions, multiplications, divisions and comparisons of values;
                          // arithmetic on coordinates does not count
};

// Returns the bytes of all tensors.
double AllBytes(const Arguments& arguments);

// Counts the 64-byte cache lines of a tensor that a call must read.
class TouchedLines {
 public:
  TouchedLines(const Arguments& arguments, std::string_view tensor);

  void Touch(int64_t first_element, int64_t count = 1) {
    if (count <= 0) return;
    const size_t last = static_cast<size_t>(first_element + count - 1) * element_ / kLine;
    for (size_t line = static_cast<size_t>(first_element) * element_ / kLine; line <= last; ++line)
      touched_[line] = 1;
  }

  double Bytes() const;
  // Returns Bytes() plus all bytes of the other tensors.
  double TotalBytes() const { return other_bytes_ + Bytes(); }

 private:
  static constexpr size_t kLine = 64;

  size_t element_;  // bytes
  size_t size_;     // of the tensor, in bytes
  double other_bytes_;
  std::vector<unsigned char> touched_;  // per line
};

}  // namespace mluop::testing
