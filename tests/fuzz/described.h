// SPDX-License-Identifier: Apache-2.0
// The contents of a tensor descriptor, and the functions that can set them.
#pragma once

#include "core/tensor.h"
#include "mlu_op.h"
#include "tests/fuzz/bytes.h"

namespace mluop::fuzz {

struct Described {
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  int rank = 0;
  int64_t dims[MLUOP_DIM_MAX] = {};
  int64_t strides[MLUOP_DIM_MAX] = {};
  bool packed = true;  // the strides follow from the dims

  static Described Of(const mluOpTensorStruct& desc);
  // Any rank, type, layout and dims; any strides, or packed ones.
  static Described Any(Bytes& bytes);
};

// Sets the descriptor through one of the setters that can express it: with int or int64_t, with or
// without strides, in one call or with the dims in a second one, or as a group. The setter may
// refuse.
mluOpStatus_t Set(mluOpTensorDescriptor_t desc, const Described& wanted, Bytes& bytes);

// Sets the attributes that no operator reads.
void SetUnusedAttributes(mluOpTensorDescriptor_t desc, Bytes& bytes);

}  // namespace mluop::fuzz
