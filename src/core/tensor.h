// SPDX-License-Identifier: Apache-2.0
// The state of a tensor descriptor.
#pragma once

#include <cstdint>

#include "mlu_op.h"

struct mluOpTensorStruct {
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  mluOpDataType_t onchip_dtype = MLUOP_DTYPE_INVALID;
  mluOpPointerMode_t pointer_mode = MLUOP_POINTER_MODE_DEVICE;
  int rank = 0;
  bool scalar = false;  // set to 0 dims: one element. A new descriptor has none.
  int64_t dims[MLUOP_DIM_MAX] = {};
  int64_t strides[MLUOP_DIM_MAX] = {};  // in elements
  int position = 0;
  float scale = 1.0f;
  int offset = 0;

  // Returns the number of elements. The setters reject products that overflow, except in an empty
  // tensor: its other dims may be of any size, and the product wraps around to 0.
  int64_t ElementCount() const {
    if (rank == 0) return scalar ? 1 : 0;
    uint64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= static_cast<uint64_t>(dims[i]);
    return static_cast<int64_t>(count);
  }

  // Returns true if the tensor is row-major without gaps. Strides of dims of size 1, and all
  // strides of an empty tensor, are ignored.
  bool IsPacked() const {
    if (ElementCount() == 0) return true;
    int64_t expected = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (dims[i] != 1 && strides[i] != expected) return false;
      expected *= dims[i];
    }
    return true;
  }
};

namespace mluop {

// Implements mluOpSetTensorDescriptor and its _v2. `function` is the name in the error message.
// Int: int or int64_t.
template <class Int>
mluOpStatus_t SetPackedTensor(const char* function, mluOpTensorStruct* desc,
                              mluOpTensorLayout_t layout, mluOpDataType_t dtype, int rank,
                              const Int* dims);

}  // namespace mluop
