// SPDX-License-Identifier: Apache-2.0
// Elements of type T in the references: as values, or as bits to copy; and functions by type.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/arguments.h"
#include "core/dtype.h"

namespace mluop::testing {

// Calls the function for the type T of the call.
template <auto kFloatVersion, auto kDoubleVersion>
auto ByType(const Arguments& arguments) {
  return (arguments.Type() == MLUOP_DTYPE_DOUBLE ? kDoubleVersion : kFloatVersion)(arguments);
}
template <auto kFloatVersion, auto kHalfVersion, auto kDoubleVersion>
auto ByType(const Arguments& arguments) {
  if (arguments.Type() == MLUOP_DTYPE_HALF) return kHalfVersion(arguments);
  return ByType<kFloatVersion, kDoubleVersion>(arguments);
}

// Returns the value of an element; half becomes float.
inline float ValueOf(Half element) { return ToFloat(element); }
inline float ValueOf(float element) { return element; }
inline double ValueOf(double element) { return element; }

// Rounds to the type of an element.
template <typename Real>
void Assign(Real value, double& element) {
  element = static_cast<double>(value);
}
template <typename Real>
void Assign(Real value, float& element) {
  element = static_cast<float>(value);
}
template <typename Real>
void Assign(Real value, Half& element) {
  element = ToHalf(static_cast<float>(value));
}

// Sums of type Value, initially 0, for an output of type Out. They are in the output itself if the
// types are the same, else in a buffer that the destructor rounds to the output.
template <typename Value, typename Out>
class OutputSums {
 public:
  OutputSums(const Arguments& arguments, std::string_view tensor)
      : output_(arguments.Out<Out>(tensor)), count_(arguments.Tensor(tensor).desc->ElementCount()) {
    if constexpr (std::is_same_v<Value, Out>) {
      std::fill_n(output_, count_, Value{0});
    } else {
      buffer_.resize(static_cast<size_t>(count_));
    }
  }
  ~OutputSums() {
    for (size_t i = 0; i < buffer_.size(); ++i) Assign(buffer_[i], output_[i]);
  }
  OutputSums(const OutputSums&) = delete;
  OutputSums& operator=(const OutputSums&) = delete;

  Value* data() {
    if constexpr (std::is_same_v<Value, Out>) {
      return output_;
    } else {
      return buffer_.data();
    }
  }

 private:
  Out* output_;
  int64_t count_;
  std::vector<Value> buffer_;
};

inline double LoadValue(const void* data, mluOpDataType_t dtype, int64_t index) {
  if (dtype == MLUOP_DTYPE_DOUBLE) return static_cast<const double*>(data)[index];
  if (dtype == MLUOP_DTYPE_FLOAT) return static_cast<const float*>(data)[index];
  return ToFloat(static_cast<const Half*>(data)[index]);
}

inline void StoreValue(double value, mluOpDataType_t dtype, void* data, int64_t index) {
  const auto rounded = static_cast<float>(value);
  if (dtype == MLUOP_DTYPE_DOUBLE) {
    static_cast<double*>(data)[index] = value;
  } else if (dtype == MLUOP_DTYPE_FLOAT) {
    static_cast<float*>(data)[index] = rounded;
  } else {
    static_cast<Half*>(data)[index] = ToHalf(rounded);
  }
}

// Clamps the finite elements of a tensor of type T to [-limit, limit]. A sum of larger ones may be
// infinite in float and finite in the double of the reference.
inline void ClampFinite(const Arguments& arguments, std::string_view tensor, double limit) {
  void* const data = arguments.Out<void>(tensor);
  const int64_t count = arguments.Tensor(tensor).desc->ElementCount();
  for (int64_t i = 0; i < count; ++i) {
    const double value = LoadValue(data, arguments.Type(), i);
    if (!(std::abs(value) > limit) || std::isinf(value)) continue;
    StoreValue(std::copysign(limit, value), arguments.Type(), data, i);
  }
}

inline void CopyElement(const void* from, int64_t from_index, void* to, int64_t to_index,
                        mluOpDataType_t dtype) {
  const size_t size = SizeOf(dtype);
  std::memcpy(static_cast<char*>(to) + to_index * static_cast<int64_t>(size),
              static_cast<const char*>(from) + from_index * static_cast<int64_t>(size), size);
}

}  // namespace mluop::testing
