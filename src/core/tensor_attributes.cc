// SPDX-License-Identifier: Apache-2.0
// On-chip type, pointer mode and quantisation parameters of a descriptor. They are stored; only the
// pointer mode has an effect.
#include "core/dtype.h"
#include "core/error.h"
#include "core/tensor.h"

namespace mluop {
namespace {

// Writes a value of a descriptor to an output argument.
template <class Value>
struct Output {
  const char* name;
  Value* to;
  Value mluOpTensorStruct::*from;
};

// Fails if the descriptor or an output is NULL, before it writes any output.
template <class... Value>
mluOpStatus_t Get(const char* function, const mluOpTensorStruct* desc, Output<Value>... outputs) {
  if (desc == nullptr) return FailNull(function, "desc");
  const char* missing = nullptr;
  ((missing = missing == nullptr && outputs.to == nullptr ? outputs.name : missing), ...);
  if (missing != nullptr) return FailNull(function, missing);
  ((*outputs.to = desc->*outputs.from), ...);
  return MLUOP_STATUS_SUCCESS;
}

// A NULL scale or offset keeps the descriptor's.
mluOpStatus_t SetQuantization(const char* function, mluOpTensorStruct* desc, int position,
                              const float* scale = nullptr, const int* offset = nullptr) {
  if (desc == nullptr) return FailNull(function, "desc");
  desc->position = position;
  if (scale != nullptr) desc->scale = *scale;
  if (offset != nullptr) desc->offset = *offset;
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace
}  // namespace mluop

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
  return Get(__func__, desc,
             Output{"onchip_dtype", onchip_dtype, &mluOpTensorStruct::onchip_dtype});
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
  return Get(__func__, desc,
             Output{"pointer_mode", pointer_mode, &mluOpTensorStruct::pointer_mode});
}

mluOpStatus_t mluOpSetTensorDescriptorPosition(mluOpTensorDescriptor_t desc, int position) {
  return SetQuantization(__func__, desc, position);
}

mluOpStatus_t mluOpSetTensorDescriptorPositionAndScale(mluOpTensorDescriptor_t desc, int position,
                                                       float scale) {
  return SetQuantization(__func__, desc, position, &scale);
}

mluOpStatus_t mluOpSetTensorDescriptorPositionScaleAndOffset(mluOpTensorDescriptor_t desc,
                                                             int position, float scale,
                                                             int offset) {
  return SetQuantization(__func__, desc, position, &scale, &offset);
}

mluOpStatus_t mluOpGetTensorDescriptorPosition(const mluOpTensorDescriptor_t desc, int* position) {
  return Get(__func__, desc, Output{"position", position, &mluOpTensorStruct::position});
}

mluOpStatus_t mluOpGetTensorDescriptorPositionAndScale(const mluOpTensorDescriptor_t desc,
                                                       int* position, float* scale) {
  return Get(__func__, desc, Output{"position", position, &mluOpTensorStruct::position},
             Output{"scale", scale, &mluOpTensorStruct::scale});
}

mluOpStatus_t mluOpGetTensorDescriptorPositionScaleAndOffset(const mluOpTensorDescriptor_t desc,
                                                             int* position, float* scale,
                                                             int* offset) {
  return Get(__func__, desc, Output{"position", position, &mluOpTensorStruct::position},
             Output{"scale", scale, &mluOpTensorStruct::scale},
             Output{"offset", offset, &mluOpTensorStruct::offset});
}
