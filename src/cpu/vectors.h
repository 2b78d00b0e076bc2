// SPDX-License-Identifier: Apache-2.0
// How much room rows of floats take in scratch.
#pragma once

#include <cstdint>

namespace mluop {

// Floats filled up to whole vectors of at most 64 bytes: no load crosses a cache line, and no store
// reaches into the next row, which the next load would have to wait for.
constexpr int64_t WholeVectors(int64_t floats) {
  return floats <= 4 ? 4 : floats <= 8 ? 8 : (floats + 15) / 16 * 16;
}

}  // namespace mluop
