// SPDX-License-Identifier: Apache-2.0
// Reads and writes elements of type T in the references: as double values, or as bits to copy.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/dtype.h"

namespace mluop::testing {

inline double LoadValue(const void* data, mluOpDataType_t dtype, int64_t index) {
  if (dtype == MLUOP_DTYPE_FLOAT) return static_cast<const float*>(data)[index];
  return ToFloat(static_cast<const Half*>(data)[index]);
}

inline void StoreValue(double value, mluOpDataType_t dtype, void* data, int64_t index) {
  const auto rounded = static_cast<float>(value);
  if (dtype == MLUOP_DTYPE_FLOAT) {
    static_cast<float*>(data)[index] = rounded;
  } else {
    static_cast<Half*>(data)[index] = ToHalf(rounded);
  }
}

inline void CopyElement(const void* from, int64_t from_index, void* to, int64_t to_index,
                        mluOpDataType_t dtype) {
  const size_t size = SizeOf(dtype);
  std::memcpy(static_cast<char*>(to) + to_index * static_cast<int64_t>(size),
              static_cast<const char*>(from) + from_index * static_cast<int64_t>(size), size);
}

}  // namespace mluop::testing
