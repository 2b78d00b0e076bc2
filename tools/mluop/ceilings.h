// SPDX-License-Identifier: Apache-2.0
// What the machine can do at best, measured: bytes copied and filled, and arithmetic.
#pragma once

#include <cstddef>

#include "cpu/thread_pool.h"

namespace mluop::tool {

struct Bandwidth {
  size_t bytes;
  double copy, fill;  // bytes a second, the best of all ways to move them; a copy reads and writes
};
Bandwidth MeasureBandwidth(size_t bytes, ThreadPool& threads);

// Operations on floats a second, two per lane of a fused multiply-add.
double MeasurePeak(ThreadPool& threads);

}  // namespace mluop::tool
