// SPDX-License-Identifier: Apache-2.0
// The steps of the calling thread's last call: parallel loops on the CPU, launches on CUDA. A
// device records three numbers per step; `mluop describe --plan` prints them.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace mluop {

class CallSteps {
 public:
  using Step = std::array<int64_t, 3>;

  static void Clear() { count_ = 0; }
  // Steps beyond kMaxSteps are not recorded.
  static void Add(const Step& step) {
    if (count_ < kMaxSteps) steps_[count_++] = step;
  }
  // Returns a line per step. `format` prints three numbers of type long long.
  static std::string Text(const char* format) {
    std::string text;
    for (int i = 0; i < count_; ++i) {
      char line[128];
      const auto [a, b, c] = steps_[i];
      snprintf(line, sizeof(line), format, static_cast<long long>(a), static_cast<long long>(b),
               static_cast<long long>(c));
      text += std::string(line) + "\n";
    }
    return text;
  }

 private:
  static constexpr int kMaxSteps = 16;
  static constinit inline thread_local int count_ = 0;
  static constinit inline thread_local Step steps_[kMaxSteps] = {};
};

}  // namespace mluop
