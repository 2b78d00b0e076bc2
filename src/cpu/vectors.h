// SPDX-License-Identifier: Apache-2.0
// The padded size of rows of floats in scratch.
#pragma once

#include <cstdint>

namespace mluop {

// Rounds up to whole vectors of at most 64 bytes. No load then crosses a cache line, and no store
// writes to the next row, which would delay the next load.
constexpr int64_t WholeVectors(int64_t floats) {
  return floats <= 4 ? 4 : floats <= 8 ? 8 : (floats + 15) / 16 * 16;
}

}  // namespace mluop
