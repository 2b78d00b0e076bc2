// SPDX-License-Identifier: Apache-2.0
// Measures the machine's peak rates: copying, filling, arithmetic.
#pragma once

#include <cstddef>

#include "cpu/thread_pool.h"

namespace mluop::tool {

struct Bandwidth {
  size_t bytes;
  double copy, fill;  // bytes per second, best of kAccessModes; a copy counts reads and writes
};
Bandwidth MeasureBandwidth(size_t bytes, ThreadPool& threads);

// Returns float operations per second; a fused multiply-add counts two per lane.
double MeasurePeak(ThreadPool& threads);

}  // namespace mluop::tool
