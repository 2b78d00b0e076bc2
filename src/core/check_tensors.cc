// SPDX-License-Identifier: Apache-2.0
// Checks each tensor: descriptor, rank, type, layout, strides, size.
#include "core/checks.h"
#include "core/dtype.h"
#include "core/error.h"

namespace mluop {
namespace {

constexpr int64_t kElementLimit = int64_t{1} << 31;

bool MayBeAbsent(const Arguments& call, const TensorSpec& row) {
  return row.optional_attribute >= 0 &&
         call.attributes[row.optional_attribute].number == static_cast<double>(row.optional_value);
}

// Calls the check on every tensor that is not absent, until one fails.
template <typename Check>
mluOpStatus_t ForEachTensor(const Arguments& call, Check check) {
  for (int i = 0; i < call.spec->tensor_count; ++i) {
    if (call.tensors[i].desc == nullptr) continue;
    if (mluOpStatus_t status = check(call.spec->tensors[i], *call.tensors[i].desc)) return status;
  }
  return MLUOP_STATUS_SUCCESS;
}

bool IsAllowed(mluOpDataType_t dtype, const Arguments& call) {
  return dtype == MLUOP_DTYPE_FLOAT ||
         (dtype == MLUOP_DTYPE_HALF && call.spec->types == kHalfOrFloat) ||
         (dtype == MLUOP_DTYPE_DOUBLE && call.double_allowed);
}

// Returns the types that T may have in the call, for error messages.
const char* AllowedTypes(const Arguments& call) {
  if (call.spec->types == kFloat) return call.double_allowed ? "float or double" : "float";
  return call.double_allowed ? "half, float or double" : "half or float";
}

}  // namespace

mluOpStatus_t CheckHandle(mluOpHandle_t handle, const Arguments& call) {
  if (handle != nullptr) return MLUOP_STATUS_SUCCESS;
  return FailArgument(MLUOP_STATUS_BAD_PARAM, *call.spec, "handle", " must be a handle, got NULL");
}

mluOpStatus_t CheckDescriptors(const Arguments& call) {
  for (int i = 0; i < call.spec->tensor_count; ++i) {
    const TensorSpec& row = call.spec->tensors[i];
    if (call.tensors[i].desc != nullptr || MayBeAbsent(call, row)) continue;
    return FailArgument(MLUOP_STATUS_BAD_PARAM, *call.spec, row.name,
                        "_desc must be a tensor descriptor, got NULL");
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t CheckRanks(const Arguments& call) {
  return ForEachTensor(call, [&](const TensorSpec& row, const mluOpTensorStruct& desc) {
    if (desc.rank == row.rank) return MLUOP_STATUS_SUCCESS;
    return FailArgument(MLUOP_STATUS_BAD_PARAM, *call.spec, row.name,
                        " must be a tensor of %d dims, got %d", row.rank, desc.rank);
  });
}

mluOpStatus_t CheckTypes(const Arguments& call) {
  const TensorSpec* first = nullptr;  // the first tensor of type T; it determines T
  mluOpDataType_t type = MLUOP_DTYPE_INVALID;
  return ForEachTensor(call, [&](const TensorSpec& row, const mluOpTensorStruct& desc) {
    const auto fail = [&](const char* rule, std::string_view like) {
      return FailArgument(MLUOP_STATUS_BAD_PARAM, *call.spec, row.name,
                          ".dtype must be %s%.*s, got %s", rule, MLUOP_SV(like),
                          NameOf(desc.dtype));
    };
    if (row.type == kI32) {
      return desc.dtype == MLUOP_DTYPE_INT32 ? MLUOP_STATUS_SUCCESS : fail("int32", "");
    }
    if (first != nullptr) {
      return desc.dtype == type ? MLUOP_STATUS_SUCCESS : fail("the same as that of ", first->name);
    }
    if (!IsAllowed(desc.dtype, call)) return fail(AllowedTypes(call), "");
    first = &row;
    type = desc.dtype;
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t CheckLayouts(const Arguments& call) {
  return ForEachTensor(call, [&](const TensorSpec& row, const mluOpTensorStruct& desc) {
    if (row.layout == kAnyLayout) return MLUOP_STATUS_SUCCESS;
    const auto wanted = row.layout == kNHWC ? MLUOP_LAYOUT_NHWC : MLUOP_LAYOUT_NCHW;
    if (desc.layout == wanted) return MLUOP_STATUS_SUCCESS;
    return FailArgument(MLUOP_STATUS_BAD_PARAM, *call.spec, row.name, ".layout must be %s, got %s",
                        NameOf(wanted), NameOf(desc.layout));
  });
}

mluOpStatus_t CheckStrides(const Arguments& call) {
  return ForEachTensor(call, [&](const TensorSpec& row, const mluOpTensorStruct& desc) {
    if (desc.IsPacked()) return MLUOP_STATUS_SUCCESS;
    int index = row.rank - 1;
    int64_t packed = 1;
    for (; desc.dims[index] == 1 || desc.strides[index] == packed; --index) {
      packed *= desc.dims[index];
    }
    return FailArgument(MLUOP_STATUS_NOT_SUPPORTED, *call.spec, row.name,
                        ".stride[%d] must be packed = %lld, got %lld", index,
                        static_cast<long long>(packed),
                        static_cast<long long>(desc.strides[index]));
  });
}

mluOpStatus_t CheckSizes(const Arguments& call) {
  return ForEachTensor(call, [&](const TensorSpec& row, const mluOpTensorStruct& desc) {
    const int64_t count = desc.ElementCount();
    if (count < kElementLimit) return MLUOP_STATUS_SUCCESS;
    return FailArgument(MLUOP_STATUS_NOT_SUPPORTED, *call.spec, row.name,
                        " must have fewer than 2^31 elements, got %lld",
                        static_cast<long long>(count));
  });
}

}  // namespace mluop
