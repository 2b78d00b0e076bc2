// SPDX-License-Identifier: Apache-2.0
// On-chip type, pointer mode and quantisation parameters of a descriptor. They are stored; only the
// pointer mode has an effect.
#include "core/dtype.h"
#include "core/error.h"
#include "core/tensor.h"

using namespace mluop;

mluOpStatus_t mluOpSetTensorDescriptorOnchipDataType(mluOpTensorDescriptor_t desc,
                                                     mluOpDataType_t onchip_dtype) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  if (onchip_dtype != MLUOP_DTYPE_INVALID && SizeOf(onchip_dtype) == 0) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: onchip_dtype must be a mluOpDataType_t, got %d",
                __func__, static_cast<int>(onchip_dtype));
  }
  desc->onchip_dtype = onchip_dtype;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorDescriptorOnchipDataType(const mluOpTensorDescriptor_t desc,
                                                     mluOpDataType_t* onchip_dtype) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  if (onchip_dtype == nullptr) return FailNull(__func__, "onchip_dtype");
  *onchip_dtype = desc->onchip_dtype;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetTensorDescriptorPointerMode(mluOpTensorDescriptor_t desc,
                                                  mluOpPointerMode_t pointer_mode) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  if (pointer_mode != MLUOP_POINTER_MODE_HOST && pointer_mode != MLUOP_POINTER_MODE_DEVICE) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: pointer_mode must be HOST (0) or DEVICE (1), got %d",
                __func__, static_cast<int>(pointer_mode));
  }
  if (pointer_mode == MLUOP_POINTER_MODE_DEVICE && desc->scalar) {
    return Fail(MLUOP_STATUS_BAD_PARAM,
                "%s: pointer_mode must be HOST for a descriptor of 0 dims, got DEVICE", __func__);
  }
  desc->pointer_mode = pointer_mode;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorDescriptorPointerMode(const mluOpTensorDescriptor_t desc,
                                                  mluOpPointerMode_t* pointer_mode) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  if (pointer_mode == nullptr) return FailNull(__func__, "pointer_mode");
  *pointer_mode = desc->pointer_mode;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetTensorDescriptorPosition(mluOpTensorDescriptor_t desc, int position) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  desc->position = position;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetTensorDescriptorPositionAndScale(mluOpTensorDescriptor_t desc, int position,
                                                       float scale) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  desc->position = position;
  desc->scale = scale;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetTensorDescriptorPositionScaleAndOffset(mluOpTensorDescriptor_t desc,
                                                             int position, float scale,
                                                             int offset) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  desc->position = position;
  desc->scale = scale;
  desc->offset = offset;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorDescriptorPosition(const mluOpTensorDescriptor_t desc, int* position) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  if (position == nullptr) return FailNull(__func__, "position");
  *position = desc->position;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorDescriptorPositionAndScale(const mluOpTensorDescriptor_t desc,
                                                       int* position, float* scale) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  if (position == nullptr) return FailNull(__func__, "position");
  if (scale == nullptr) return FailNull(__func__, "scale");
  *position = desc->position;
  *scale = desc->scale;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorDescriptorPositionScaleAndOffset(const mluOpTensorDescriptor_t desc,
                                                             int* position, float* scale,
                                                             int* offset) {
  if (desc == nullptr) return FailNull(__func__, "desc");
  if (position == nullptr) return FailNull(__func__, "position");
  if (scale == nullptr) return FailNull(__func__, "scale");
  if (offset == nullptr) return FailNull(__func__, "offset");
  *position = desc->position;
  *scale = desc->scale;
  *offset = desc->offset;
  return MLUOP_STATUS_SUCCESS;
}
