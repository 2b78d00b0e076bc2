// SPDX-License-Identifier: Apache-2.0
// Tensor descriptors. Setters check all arguments before they change the descriptor.
#include "core/tensor.h"

#include <cinttypes>
#include <climits>
#include <cstddef>
#include <new>

#include "core/dtype.h"
#include "core/error.h"

namespace mluop {
namespace {

mluOpStatus_t CheckTypes(const char* function, mluOpTensorLayout_t layout, mluOpDataType_t dtype) {
  if (layout < MLUOP_LAYOUT_NCHW || layout > MLUOP_LAYOUT_NCL) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: layout must be a mluOpTensorLayout_t, got %d",
                function, static_cast<int>(layout));
  }
  if (dtype != MLUOP_DTYPE_INVALID && SizeOf(dtype) == 0) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: dtype must be a mluOpDataType_t, got %d", function,
                static_cast<int>(dtype));
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t CheckRank(const char* function, const mluOpTensorStruct& desc, int rank) {
  if (rank < 0 || rank > MLUOP_DIM_MAX) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: dimNb must be in [0, %d], got %d", function,
                MLUOP_DIM_MAX, rank);
  }
  if (rank == 0 && desc.pointer_mode != MLUOP_POINTER_MODE_HOST) {
    return Fail(MLUOP_STATUS_BAD_PARAM,
                "%s: dimNb must be at least 1 unless the pointer mode is HOST, got 0", function);
  }
  return MLUOP_STATUS_SUCCESS;
}

// Writes dims and strides to `desc`; strides are packed if `strides` is NULL. On failure `desc` is
// unchanged.
template <typename Int>
mluOpStatus_t SetDims(const char* function, mluOpTensorStruct& desc, int rank, const Int* dims,
                      const Int* strides) {
  if (mluOpStatus_t status = CheckRank(function, desc, rank)) return status;
  if (rank > 0 && dims == nullptr) return FailNull(function, "dimSize");
  bool empty = false;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 0) {
      return Fail(MLUOP_STATUS_BAD_PARAM, "%s: dimSize[%d] must be at least 0, got %" PRId64,
                  function, i, int64_t{dims[i]});
    }
    empty |= dims[i] == 0;
  }
  int64_t product = 1;
  for (int i = 0; i < rank && !empty; ++i) {
    if (__builtin_mul_overflow(product, static_cast<int64_t>(dims[i]), &product)) {
      return Fail(MLUOP_STATUS_BAD_PARAM,
                  "%s: dimSize must have a product below 2^63, got an overflow at dimSize[%d]",
                  function, i);
    }
  }
  desc.rank = rank;
  desc.scalar = rank == 0;
  uint64_t packed = 1;  // wraps around only in an empty tensor, whose strides are ignored
  for (int i = rank - 1; i >= 0; --i) {
    desc.dims[i] = dims[i];
    desc.strides[i] =
        strides != nullptr ? static_cast<int64_t>(strides[i]) : static_cast<int64_t>(packed);
    packed *= static_cast<uint64_t>(dims[i]);
  }
  return MLUOP_STATUS_SUCCESS;
}

template <typename Int>
mluOpStatus_t SetAll(const char* function, mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                     mluOpDataType_t dtype, int rank, const Int* dims, const Int* strides) {
  if (desc == nullptr) return FailNull(function, "desc");
  if (mluOpStatus_t status = CheckTypes(function, layout, dtype)) return status;
  if (mluOpStatus_t status = SetDims(function, *desc, rank, dims, strides)) return status;
  desc->layout = layout;
  desc->dtype = dtype;
  return MLUOP_STATUS_SUCCESS;
}

template <typename Int>
bool Fits(int64_t value) {
  return sizeof(Int) == sizeof(int64_t) || (value >= INT_MIN && value <= INT_MAX);
}

// NULL output pointers are skipped.
template <typename Int>
mluOpStatus_t GetAll(const char* function, const mluOpTensorStruct* desc,
                     mluOpTensorLayout_t* layout, mluOpDataType_t* dtype, int* rank, Int* dims,
                     Int* strides) {
  if (desc == nullptr) return FailNull(function, "desc");
  for (int i = 0; i < desc->rank; ++i) {
    for (const int64_t value :
         {dims == nullptr ? 0 : desc->dims[i], strides == nullptr ? 0 : desc->strides[i]}) {
      if (Fits<Int>(value)) continue;
      return Fail(MLUOP_STATUS_BAD_PARAM,
                  "%s: desc must have dims and strides that fit in int, got %" PRId64, function,
                  value);
    }
  }
  if (layout != nullptr) *layout = desc->layout;
  if (dtype != nullptr) *dtype = desc->dtype;
  if (rank != nullptr) *rank = desc->rank;
  for (int i = 0; i < desc->rank; ++i) {
    if (dims != nullptr) dims[i] = static_cast<Int>(desc->dims[i]);
    if (strides != nullptr) strides[i] = static_cast<Int>(desc->strides[i]);
  }
  return MLUOP_STATUS_SUCCESS;
}

template <typename Int>
mluOpStatus_t GetEx(const char* function, const mluOpTensorStruct* desc,
                    mluOpTensorLayout_t* layout, mluOpDataType_t* dtype, int* rank, Int* dims,
                    Int* strides) {
  if (layout == nullptr) return FailNull(function, "layout");
  if (dtype == nullptr) return FailNull(function, "dtype");
  if (rank == nullptr) return FailNull(function, "dimNb");
  if (dims == nullptr) return FailNull(function, "dimSize");
  if (strides == nullptr) return FailNull(function, "dimStride");
  return GetAll(function, desc, layout, dtype, rank, dims, strides);
}

}  // namespace

template <class Int>
mluOpStatus_t SetPackedTensor(const char* function, mluOpTensorStruct* desc,
                              mluOpTensorLayout_t layout, mluOpDataType_t dtype, int rank,
                              const Int* dims) {
  return SetAll<Int>(function, desc, layout, dtype, rank, dims, nullptr);
}
template mluOpStatus_t SetPackedTensor(const char*, mluOpTensorStruct*, mluOpTensorLayout_t,
                                       mluOpDataType_t, int, const int*);
template mluOpStatus_t SetPackedTensor(const char*, mluOpTensorStruct*, mluOpTensorLayout_t,
                                       mluOpDataType_t, int, const int64_t*);

}  // namespace mluop

using namespace mluop;

mluOpStatus_t mluOpCreateTensorDescriptor(mluOpTensorDescriptor_t* desc) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  auto* created = new (std::nothrow) mluOpTensorStruct;
  if (created == nullptr) return Fail(MLUOP_STATUS_ALLOC_FAILED, "%s: out of memory", __func__);
  *desc = created;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpDestroyTensorDescriptor(mluOpTensorDescriptor_t desc) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  delete desc;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpResetTensorDescriptor(mluOpTensorDescriptor_t desc) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  *desc = mluOpTensorStruct();
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetTensorDescriptor(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                       mluOpDataType_t dtype, int dimNb, const int dimSize[]) {
  return SetPackedTensor(__func__, desc, layout, dtype, dimNb, dimSize);
}

mluOpStatus_t mluOpSetTensorDescriptor_v2(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                          mluOpDataType_t dtype, int dimNb,
                                          const int64_t dimSize[]) {
  return SetPackedTensor(__func__, desc, layout, dtype, dimNb, dimSize);
}

mluOpStatus_t mluOpSetTensorDescriptorEx(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                         mluOpDataType_t dtype, int dimNb, const int dimSize[],
                                         const int dimStride[]) {
  if (dimNb > 0 && dimStride == nullptr) return FailNull(__func__, "dimStride");
  return SetAll<int>(__func__, desc, layout, dtype, dimNb, dimSize, dimStride);
}

mluOpStatus_t mluOpSetTensorDescriptorEx_v2(mluOpTensorDescriptor_t desc,
                                            mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                                            int dimNb, const int64_t dimSize[],
                                            const int64_t dimStride[]) {
  if (dimNb > 0 && dimStride == nullptr) return FailNull(__func__, "dimStride");
  return SetAll<int64_t>(__func__, desc, layout, dtype, dimNb, dimSize, dimStride);
}

mluOpStatus_t mluOpSetTensorDescriptorDim(mluOpTensorDescriptor_t desc, int dimNb,
                                          const int* dimSize) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  return SetDims<int>(__func__, *desc, dimNb, dimSize, nullptr);
}

mluOpStatus_t mluOpSetTensorDescriptorDim_v2(mluOpTensorDescriptor_t desc, int dimNb,
                                             const int64_t* dimSize) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  return SetDims<int64_t>(__func__, *desc, dimNb, dimSize, nullptr);
}

mluOpStatus_t mluOpGetTensorDescriptor(const mluOpTensorDescriptor_t desc,
                                       mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                       int* dimNb, int dimSize[]) {
  return GetAll<int>(__func__, desc, layout, dtype, dimNb, dimSize, nullptr);
}

mluOpStatus_t mluOpGetTensorDescriptor_v2(const mluOpTensorDescriptor_t desc,
                                          mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                          int* dimNb, int64_t dimSize[]) {
  return GetAll<int64_t>(__func__, desc, layout, dtype, dimNb, dimSize, nullptr);
}

mluOpStatus_t mluOpGetTensorDescriptorEx(const mluOpTensorDescriptor_t desc,
                                         mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                         int* dimNb, int dimSize[], int dimStride[]) {
  return GetEx<int>(__func__, desc, layout, dtype, dimNb, dimSize, dimStride);
}

mluOpStatus_t mluOpGetTensorDescriptorEx_v2(const mluOpTensorDescriptor_t desc,
                                            mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                            int* dimNb, int64_t dimSize[], int64_t dimStride[]) {
  return GetEx<int64_t>(__func__, desc, layout, dtype, dimNb, dimSize, dimStride);
}

size_t mluOpGetTensorElementNum(const mluOpTensorDescriptor_t desc) {
  return desc == nullptr ? 0 : static_cast<size_t>(desc->ElementCount());
}

mluOpStatus_t mluOpGetSizeOfDataType(mluOpDataType_t data_type, size_t* size) {
  if (size == nullptr) return FailNull(__func__, "size");
  const size_t bytes = SizeOf(data_type);
  if (bytes == 0) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: data_type must be a data type with a size, got %d",
                __func__, static_cast<int>(data_type));
  }
  *size = bytes;
  return MLUOP_STATUS_SUCCESS;
}
