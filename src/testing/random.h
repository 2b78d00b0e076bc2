// SPDX-License-Identifier: Apache-2.0
// A random number generator that gives the same numbers on every machine (SplitMix64).
#pragma once

#include <cstdint>

namespace mluop::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Returns a number in [0, n), n >= 1.
  int64_t Below(int64_t n) { return static_cast<int64_t>(Bits() % static_cast<uint64_t>(n)); }

  // Returns a number in [low, high).
  double Uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(Bits() >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_;
};

}  // namespace mluop::testing
