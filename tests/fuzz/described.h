// SPDX-License-Identifier: Apache-2.0
// What a tensor descriptor shall hold, and the many functions that may put it there.
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
  // Of any rank, type, layout and dims; strides of any value, or packed ones.
  static Described Any(Bytes& bytes);
};

// Through one of the setters that can say it: with int or int64_t, with strides or without, at once or with the dims
// alone in a second call, or as a group. They may refuse it.
mluOpStatus_t Set(mluOpTensorDescriptor_t desc, const Described& wanted, Bytes& bytes);

// Values that no operator looks at.
void SetWhatDoesNotMatter(mluOpTensorDescriptor_t desc, Bytes& bytes);

}  // namespace mluop::fuzz
