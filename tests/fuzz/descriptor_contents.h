// SPDX-License-Identifier: Apache-2.0
// The contents of a tensor descriptor, and the functions that can set them.
#pragma once

#include "core/tensor.h"
#include "mlu_op.h"
#include "tests/fuzz/bytes.h"

namespace mluop::fuzz {

struct DescriptorContents {
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  int rank = 0;
  int64_t dims[MLUOP_DIM_MAX] = {};
  int64_t strides[MLUOP_DIM_MAX] = {};
  bool packed = true;  // the strides follow from the dims

  static DescriptorContents Of(const mluOpTensorStruct& desc);
  // Any rank, type, layout and dims; any strides, or packed ones.
  static DescriptorContents Any(Bytes& bytes);
};

// Sets the descriptor through one of the setters that can express it. The setters differ in three
// respects: int or int64_t, strides or none, one call, two calls or a group. The setter may return
// BAD_PARAM.
mluOpStatus_t Set(mluOpTensorDescriptor_t desc, const DescriptorContents& wanted, Bytes& bytes);

// Sets the attributes that no operator reads.
void SetUnusedAttributes(mluOpTensorDescriptor_t desc, Bytes& bytes);

}  // namespace mluop::fuzz
