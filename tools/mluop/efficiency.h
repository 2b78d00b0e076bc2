// SPDX-License-Identifier: Apache-2.0
// The efficiencies of a measurement, for memory and for arithmetic. The design documents accept a
// result if one of the two is at least 50 %, or if a reason names the bottleneck.
#pragma once

#include "machine.h"

namespace mluop::tool {

inline constexpr double kAccepted = 0.5;  // of the memory's or of the arithmetic's rate

// The rates of the device, measured in the same run.
struct Rates {
  double copy;         // bytes per second, read and written, of the largest copy
  double copied;       // bytes of that copy
  double fill;         // bytes per second; 0: not measured
  double peak;         // operations per second
  double cache_bytes;  // caches that may hold tensors between runs
};

// Adds io_efficiency, compute_efficiency, bound ("memory" or "compute"), met, reason and remarks to
// a row. The row has case, device, min_s, floor_s, ratio_to_floor, bytes, written_bytes,
// tensor_bytes, operations and caches.
void AddEfficiency(const Rates& rates, Row* row);

// The meaning of a remark's mark, for the end of a table.
const char* MeaningOf(const std::string& mark);

}  // namespace mluop::tool
