// SPDX-License-Identifier: Apache-2.0
// Tensor sets: descriptors of tensors that lie one after the other in one buffer.
#include <cinttypes>
#include <climits>
#include <memory>
#include <new>

#include "core/dtype.h"
#include "core/error.h"
#include "core/tensor.h"

struct mluOpTensorSetStruct {
  int rank = 0;
  int dims[MLUOP_DIM_MAX] = {};
  int64_t count = 0;
  std::unique_ptr<mluOpTensorStruct[]> members;  // in row-major order of their indices
};

namespace mluop {
namespace {

constexpr int kMaxMembers = 65536;

// Checks the dims of a new set and writes the number of members.
mluOpStatus_t CountMembers(const char* function, int rank, const int* dims, int64_t* count) {
  if (rank < 1 || rank > MLUOP_DIM_MAX) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: setDimNb must be in [1, %d], got %d", function,
                MLUOP_DIM_MAX, rank);
  }
  *count = 1;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 1) {
      return Fail(MLUOP_STATUS_BAD_PARAM, "%s: setDimSize[%d] must be at least 1, got %d", function,
                  i, dims[i]);
    }
    if (*count <= kMaxMembers) *count *= dims[i];  // cannot overflow: 2^16 * 2^31
  }
  if (*count <= kMaxMembers) return MLUOP_STATUS_SUCCESS;
  return Fail(MLUOP_STATUS_NOT_SUPPORTED, "%s: setDimSize must give at most %d members, got more",
              function, kMaxMembers);
}

// Writes the position of a member in the row-major order.
mluOpStatus_t FindMember(const char* function, const mluOpTensorSetStruct* set, int rank,
                         const int* index, int64_t* position) {
  if (set == nullptr) return FailNull(function, "tensorSet");
  if (index == nullptr) return FailNull(function, "tensorIndex");
  if (rank != set->rank) {
    return Fail(MLUOP_STATUS_BAD_PARAM,
                "%s: setDimNb must be the set's number of dims = %d, got %d", function, set->rank,
                rank);
  }
  *position = 0;
  for (int i = 0; i < rank; ++i) {
    if (index[i] < 0 || index[i] >= set->dims[i]) {
      return Fail(MLUOP_STATUS_BAD_PARAM, "%s: tensorIndex[%d] must be in [0, %d), got %d",
                  function, i, set->dims[i], index[i]);
    }
    *position = *position * set->dims[i] + index[i];
  }
  return MLUOP_STATUS_SUCCESS;
}

// Writes the size of the first `count` members. Returns false if it does not fit in 63 bits.
bool SumBytes(const mluOpTensorSetStruct& set, int64_t count, int64_t* bytes) {
  *bytes = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t member = 0;
    if (__builtin_mul_overflow(set.members[i].ElementCount(),
                               static_cast<int64_t>(SizeOf(set.members[i].dtype)), &member) ||
        __builtin_add_overflow(*bytes, member, bytes)) {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace mluop

using namespace mluop;

mluOpStatus_t mluOpCreateTensorSetDescriptor(mluOpTensorSetDescriptor_t* tensorSet,
                                             const int setDimNb, const int setDimSize[]) {
  if (tensorSet == nullptr) return FailNull(__func__, "tensorSet");
  if (setDimSize == nullptr) return FailNull(__func__, "setDimSize");
  int64_t count = 0;
  if (mluOpStatus_t status = CountMembers(__func__, setDimNb, setDimSize, &count)) return status;
  std::unique_ptr<mluOpTensorSetStruct> set(new (std::nothrow) mluOpTensorSetStruct);
  if (set != nullptr) {
    set->members.reset(new (std::nothrow) mluOpTensorStruct[static_cast<size_t>(count)]);
  }
  if (set == nullptr || set->members == nullptr) {
    return Fail(MLUOP_STATUS_ALLOC_FAILED, "%s: out of memory", __func__);
  }
  set->rank = setDimNb;
  set->count = count;
  for (int i = 0; i < setDimNb; ++i) set->dims[i] = setDimSize[i];
  *tensorSet = set.release();
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorSetDescriptor(mluOpTensorSetDescriptor_t tensorSet, int* setDimNb,
                                          int setDimSize[]) {
  if (tensorSet == nullptr) return FailNull(__func__, "tensorSet");
  if (setDimNb == nullptr) return FailNull(__func__, "setDimNb");
  if (setDimSize == nullptr) return FailNull(__func__, "setDimSize");
  *setDimNb = tensorSet->rank;
  for (int i = 0; i < tensorSet->rank; ++i) setDimSize[i] = tensorSet->dims[i];
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpDestroyTensorSetDescriptor(mluOpTensorSetDescriptor_t tensorSet) {
  if (tensorSet == nullptr) return FailNull(__func__, "tensorSet");
  delete tensorSet;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpInitTensorSetMemberDescriptor(mluOpTensorSetDescriptor_t tensorSet,
                                                 const int setDimNb, const int tensorIndex[],
                                                 mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                                                 const int dimNb, const int dimSize[]) {
  int64_t position = 0;
  const mluOpStatus_t status = FindMember(__func__, tensorSet, setDimNb, tensorIndex, &position);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return SetPackedTensor(__func__, &tensorSet->members[position], layout, dtype, dimNb, dimSize);
}

mluOpStatus_t mluOpInitTensorSetMemberDescriptorPositionAndScale(
    mluOpTensorSetDescriptor_t tensorSet, const int setDimNb, const int tensorIndex[],
    const int position, const float scale) {
  int64_t member = 0;
  const mluOpStatus_t status = FindMember(__func__, tensorSet, setDimNb, tensorIndex, &member);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  tensorSet->members[member].position = position;
  tensorSet->members[member].scale = scale;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorSetDescriptorSize(mluOpTensorSetDescriptor_t tensorSet,
                                              int* sizeInBytes) {
  if (tensorSet == nullptr) return FailNull(__func__, "tensorSet");
  if (sizeInBytes == nullptr) return FailNull(__func__, "sizeInBytes");
  int64_t bytes = 0;
  if (!SumBytes(*tensorSet, tensorSet->count, &bytes)) bytes = INT64_MAX;
  if (bytes > INT_MAX) {
    return Fail(MLUOP_STATUS_NOT_SUPPORTED,
                "%s: tensorSet must have a size that fits in int, got %" PRId64 " bytes", __func__,
                bytes);
  }
  *sizeInBytes = static_cast<int>(bytes);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorAndDataFromTensorSet(mluOpTensorSetDescriptor_t tensorSet,
                                                 const int setDimNb, const int tensorIndex[],
                                                 void* data, mluOpTensorDescriptor_t* tensorDesc,
                                                 void** dataAddrInDevice) {
  int64_t position = 0;
  const mluOpStatus_t status = FindMember(__func__, tensorSet, setDimNb, tensorIndex, &position);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  if (data == nullptr) return FailNull(__func__, "data");
  if (tensorDesc == nullptr) return FailNull(__func__, "tensorDesc");
  if (dataAddrInDevice == nullptr) return FailNull(__func__, "dataAddrInDevice");
  int64_t offset = 0;
  if (!SumBytes(*tensorSet, position, &offset)) {
    return Fail(MLUOP_STATUS_NOT_SUPPORTED,
                "%s: tensorSet must have offsets below 2^63, got an overflow", __func__);
  }
  *tensorDesc = &tensorSet->members[position];
  *dataAddrInDevice = static_cast<char*>(data) + offset;
  return MLUOP_STATUS_SUCCESS;
}
