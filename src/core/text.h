// SPDX-License-Identifier: Apache-2.0
// Text in a buffer of fixed size. Allocates no memory.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace mluop {

// Passes a std::string_view to printf: "%.*s", MLUOP_SV(name).
#define MLUOP_SV(view) static_cast<int>((view).size()), (view).data()

// Appends to the string in a buffer; truncates what does not fit.
class TextWriter {
 public:
  TextWriter(char* text, size_t size) : text_(text), size_(size) { text_[0] = '\0'; }
  template <size_t kSize>
  explicit TextWriter(char (&text)[kSize]) : TextWriter(text, kSize) {}

  [[gnu::format(printf, 2, 3)]] void Add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int added = vsnprintf(text_ + length_, size_ - length_, format, arguments);
    va_end(arguments);
    length_ = std::min(length_ + static_cast<size_t>(std::max(added, 0)), size_ - 1);
  }
  size_t length() const { return length_; }

 private:
  char* text_;
  size_t size_;
  size_t length_ = 0;
};

}  // namespace mluop
