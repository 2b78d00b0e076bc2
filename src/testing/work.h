// SPDX-License-Identifier: Apache-2.0
// What a call cannot do without: the bytes that must move, the arithmetic that must be done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/arguments.h"

namespace mluop::testing {

struct Work {
  double bytes;           // each needed input byte read once, each output byte written once
  double operations = 0;  // additions, multiplications, divisions and comparisons of values; those
                          // of coordinates do not count
};

// All tensors, once.
double AllBytes(const Arguments& arguments);

// The part of a tensor that is needed. Memory comes in lines of 64 bytes.
class NeededLines {
 public:
  NeededLines(const Arguments& arguments, std::string_view tensor);

  void Need(int64_t first_element, int64_t count = 1) {
    if (count <= 0) return;
    const size_t last = static_cast<size_t>(first_element + count - 1) * element_ / kLine;
    for (size_t line = static_cast<size_t>(first_element) * element_ / kLine; line <= last; ++line)
      needed_[line] = 1;
  }

  double Bytes() const;
  // With all of the other tensors.
  double TotalBytes() const { return others_ + Bytes(); }

 private:
  static constexpr size_t kLine = 64;

  size_t element_;  // bytes
  size_t size_;     // of the tensor, in bytes
  double others_;
  std::vector<unsigned char> needed_;  // per line
};

}  // namespace mluop::testing
