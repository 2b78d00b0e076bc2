// SPDX-License-Identifier: Apache-2.0
// Creates, sets and destroys groups of tensor descriptors.
#include <cstdio>

#include "core/error.h"
#include "core/tensor.h"

namespace mluop {
namespace {

mluOpStatus_t CheckGroup(const char* function, mluOpTensorDescriptor_t* group[], int count) {
  if (group == nullptr) return FailNull(function, "group_desc");
  if (count < 1) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: desc_num must be at least 1, got %d", function, count);
  }
  for (int i = 0; i < count; ++i) {
    if (group[i] == nullptr) {
      return Fail(MLUOP_STATUS_BAD_PARAM, "%s: group_desc[%d] must be a pointer, got NULL",
                  function, i);
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t FailNullDescriptor(const char* function, int i) {
  return Fail(MLUOP_STATUS_BAD_PARAM, "%s: *group_desc[%d] must be a descriptor, got NULL",
              function, i);
}

template <typename Int>
mluOpStatus_t SetGroup(const char* function, mluOpTensorDescriptor_t* group[],
                       const mluOpTensorLayout_t* layouts, const mluOpDataType_t* dtypes,
                       const int* ranks, const Int* dims, int count) {
  if (mluOpStatus_t status = CheckGroup(function, group, count)) return status;
  if (layouts == nullptr) return FailNull(function, "group_layout");
  if (dtypes == nullptr) return FailNull(function, "group_dtype");
  if (ranks == nullptr) return FailNull(function, "group_dimNb");
  if (dims == nullptr) return FailNull(function, "group_dimSize");
  for (const bool commit : {false, true}) {  // sets copies first, so that all or none change
    const Int* next = dims;
    for (int i = 0; i < count; ++i) {
      if (*group[i] == nullptr) return FailNullDescriptor(function, i);
      char name[96];
      snprintf(name, sizeof(name), "%s: group_desc[%d]", function, i);
      mluOpTensorStruct copy = **group[i];
      mluOpTensorStruct* target = commit ? *group[i] : &copy;
      const mluOpStatus_t status =
          SetPackedTensor(name, target, layouts[i], dtypes[i], ranks[i], next);
      if (status != MLUOP_STATUS_SUCCESS) return status;
      next += ranks[i];
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace
}  // namespace mluop

using namespace mluop;

mluOpStatus_t mluOpCreateGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[],
                                                const int desc_num) {
  if (mluOpStatus_t status = CheckGroup(__func__, group_desc, desc_num)) return status;
  for (int i = 0; i < desc_num; ++i) {
    if (mluOpCreateTensorDescriptor(group_desc[i]) == MLUOP_STATUS_SUCCESS) continue;
    while (--i >= 0) {
      delete *group_desc[i];
      *group_desc[i] = nullptr;
    }
    return Fail(MLUOP_STATUS_ALLOC_FAILED, "%s: out of memory", __func__);
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[],
                                             const mluOpTensorLayout_t group_layout[],
                                             const mluOpDataType_t group_dtype[],
                                             const int group_dimNb[], const int group_dimSize[],
                                             const int desc_num) {
  return SetGroup(__func__, group_desc, group_layout, group_dtype, group_dimNb, group_dimSize,
                  desc_num);
}

mluOpStatus_t mluOpSetGroupTensorDescriptors_v2(mluOpTensorDescriptor_t* group_desc[],
                                                const mluOpTensorLayout_t group_layout[],
                                                const mluOpDataType_t group_dtype[],
                                                const int group_dimNb[],
                                                const int64_t group_dimSize[], const int desc_num) {
  return SetGroup(__func__, group_desc, group_layout, group_dtype, group_dimNb, group_dimSize,
                  desc_num);
}

mluOpStatus_t mluOpDestroyGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[],
                                                 const int desc_num) {
  if (mluOpStatus_t status = CheckGroup(__func__, group_desc, desc_num)) return status;
  for (int i = 0; i < desc_num; ++i) {
    if (*group_desc[i] == nullptr) return FailNullDescriptor(__func__, i);
  }
  for (int i = 0; i < desc_num; ++i) delete *group_desc[i];
  return MLUOP_STATUS_SUCCESS;
}
