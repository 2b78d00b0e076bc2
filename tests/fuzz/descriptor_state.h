// SPDX-License-Identifier: Apache-2.0
// The state of a descriptor as the getters return it, and shapes for the setters.
#pragma once

#include <bit>
#include <vector>

#include "mlu_op.h"
#include "tests/fuzz/bytes.h"

namespace mluop::fuzz {

// Exactly `count` elements on the heap: AddressSanitizer reports an access beyond them.
template <typename T>
class Array {
 public:
  explicit Array(int count) : data_(new T[static_cast<size_t>(count)]()) {}
  ~Array() { delete[] data_; }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T& operator[](int i) { return data_[i]; }
  T* get() { return data_; }

 private:
  T* data_;
};

// The results of all getters for a descriptor.
struct State {
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  int rank;
  std::vector<int64_t> dims, strides;
  size_t count;
  mluOpDataType_t onchip_dtype;
  mluOpPointerMode_t pointer_mode;
  int position;
  uint32_t scale;  // as bits: a NaN is stored like any other value
  int offset;
  bool operator==(const State&) const = default;
};

inline void RequireSuccess(mluOpStatus_t status, const char* function) {
  Require(status == MLUOP_STATUS_SUCCESS, "must succeed", function);
}

inline State Read(mluOpTensorDescriptor_t desc) {
  State state;
  float scale = 0;
  RequireSuccess(mluOpGetTensorDescriptor_v2(desc, nullptr, nullptr, &state.rank, nullptr), "Get");
  Array<int64_t> dims(state.rank), strides(state.rank);
  RequireSuccess(mluOpGetTensorDescriptorEx_v2(desc, &state.layout, &state.dtype, &state.rank,
                                               dims.get(), strides.get()),
                 "GetEx_v2");
  state.dims.assign(dims.get(), dims.get() + state.rank);
  state.strides.assign(strides.get(), strides.get() + state.rank);
  state.count = mluOpGetTensorElementNum(desc);
  RequireSuccess(mluOpGetTensorDescriptorOnchipDataType(desc, &state.onchip_dtype), "GetOnchip");
  RequireSuccess(mluOpGetTensorDescriptorPointerMode(desc, &state.pointer_mode), "GetPointerMode");
  RequireSuccess(
      mluOpGetTensorDescriptorPositionScaleAndOffset(desc, &state.position, &scale, &state.offset),
      "GetPositionScaleAndOffset");
  state.scale = std::bit_cast<uint32_t>(scale);
  return state;
}

inline bool IsLayout(int value) { return value >= 0 && value <= 10; }
inline bool IsDtype(int value) { return value >= 0 && value <= 17 && value != 10; }

// Dims and strides of a caller.
template <typename Int>
struct Shape {
  explicit Shape(Bytes& bytes)
      : rank(bytes.OneIn(8) ? static_cast<int>(bytes.Integer()) : bytes.Below(MLUOP_DIM_MAX + 1)),
        readable(rank > 0 && rank <= MLUOP_DIM_MAX ? rank : 0),
        dims(readable),
        strides(readable) {
    for (int i = 0; i < readable; ++i) {
      dims[i] =
          bytes.OneIn(8) ? static_cast<Int>(bytes.Integer()) : static_cast<Int>(bytes.Below(300));
      strides[i] = static_cast<Int>(bytes.Integer());
    }
    if (bytes.OneIn(16)) dims_pointer = nullptr;
  }

  bool IsLegal(mluOpPointerMode_t pointer_mode) {
    if (rank == 0) return pointer_mode == MLUOP_POINTER_MODE_HOST;
    if (rank != readable || dims_pointer == nullptr) return false;
    __extension__ __int128 product = 1;
    for (int i = 0; i < rank; ++i) {
      if (dims[i] < 0) return false;
    }
    for (int i = 0; i < rank; ++i) {
      if (dims[i] == 0) return true;
    }
    for (int i = 0; i < rank && product <= INT64_MAX; ++i) product *= dims[i];
    return product <= INT64_MAX;
  }

  int rank;
  int readable;
  Array<Int> dims, strides;
  Int* dims_pointer = dims.get();
};

inline int LayoutFrom(Bytes& bytes) {
  return bytes.OneIn(8) ? static_cast<int>(bytes.Integer()) : bytes.Below(11);
}
inline int DtypeFrom(Bytes& bytes) {
  return bytes.OneIn(8) ? static_cast<int>(bytes.Integer()) : bytes.Below(18);
}

}  // namespace mluop::fuzz
