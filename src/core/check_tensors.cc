// SPDX-License-Identifier: Apache-2.0
// Checks each tensor: descriptor, rank, type, layout, strides, size.
#include <cinttypes>
#include <cstdio>

#include "core/checks.h"
#include "core/dtype.h"
#include "core/error.h"

namespace mluop {
namespace {

// Dims are below 2^31: indices into them are int32. Element counts are below 2^60, so that byte counts
// fit in 64 bits; in limited operators they are below 2^31.
constexpr int64_t kDimLimit = int64_t{1} << 31;
constexpr int64_t kElementLimit = int64_t{1} << 60;
constexpr int64_t kLimitedElements = int64_t{1} << 31;

bool MayBeAbsent(const Arguments& call, const TensorSpec& row) {
  if (row.optional_attribute == TensorSpec::kAlwaysOptional) return true;
  return row.optional_attribute >= 0 &&
         call.attributes[row.optional_attribute].number == static_cast<double>(row.optional.value);
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
  return BrokenRule(call.spec->name, "handle").Must("be a handle").Got("NULL");
}

mluOpStatus_t CheckDescriptors(Arguments& call) {
  for (int i = 0; i < call.spec->tensor_count; ++i) {
    const TensorSpec& row = call.spec->tensors[i];
    if (call.tensors[i].desc != nullptr || MayBeAbsent(call, row)) continue;
    char name[64];
    snprintf(name, sizeof(name), "%.*s_desc", MLUOP_SV(row.name));
    return BrokenRule(call.spec->name, name).Must("be a tensor descriptor").Got("NULL");
  }
  return MLUOP_STATUS_SUCCESS;
}

void DropPartlyAbsentTensors(Arguments& call) {
  for (int i = 0; i < call.spec->tensor_count; ++i) {
    TensorArgument& tensor = call.tensors[i];
    const TensorSpec& row = call.spec->tensors[i];
    if (!row.optional.one_null_suffices || !MayBeAbsent(call, row)) continue;
    if (tensor.desc == nullptr || tensor.data == nullptr) tensor = {};
  }
}

mluOpStatus_t CheckRanks(Arguments& call) {
  return ForEachTensor(call, [&](const TensorSpec& row, const mluOpTensorStruct& desc) {
    if (desc.rank == row.rank) return MLUOP_STATUS_SUCCESS;
    return BrokenRule(call.spec->name, row.name)
        .Must("be a tensor of %d dims", row.rank)
        .Got("%d", desc.rank);
  });
}

mluOpStatus_t CheckTypes(Arguments& call) {
  const TensorSpec* first = nullptr;  // the first tensor of type T; it determines T
  mluOpDataType_t type = MLUOP_DTYPE_INVALID;
  return ForEachTensor(call, [&](const TensorSpec& row, const mluOpTensorStruct& desc) {
    const auto fail = [&](const char* rule, std::string_view like) {
      return BrokenRule(call.spec->name, row.name, "dtype")
          .Must("be %s%.*s", rule, MLUOP_SV(like))
          .Got("%s", NameOf(desc.dtype));
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

mluOpStatus_t CheckLayouts(Arguments& call) {
  return ForEachTensor(call, [&](const TensorSpec& row, const mluOpTensorStruct& desc) {
    const mluOpTensorLayout_t wanted = LayoutOf(row.layout);
    if (row.layout == kAnyLayout || desc.layout == wanted) return MLUOP_STATUS_SUCCESS;
    return BrokenRule(call.spec->name, row.name, "layout")
        .Must("be %s", NameOf(wanted))
        .Got("%s", NameOf(desc.layout));
  });
}

mluOpStatus_t CheckStrides(Arguments& call) {
  return ForEachTensor(call, [&](const TensorSpec& row, const mluOpTensorStruct& desc) {
    if (desc.IsPacked()) return MLUOP_STATUS_SUCCESS;
    int index = row.rank - 1;
    int64_t packed = 1;
    for (; desc.dims[index] == 1 || desc.strides[index] == packed; --index) {
      packed *= desc.dims[index];
    }
    return BrokenRule(call.spec->name, row.name, "stride", index)
        .With(MLUOP_STATUS_NOT_SUPPORTED)
        .Must("be %" PRId64 " (packed)", packed)
        .Got("%" PRId64, desc.strides[index]);
  });
}

mluOpStatus_t CheckSizes(Arguments& call) {
  return ForEachTensor(call, [&](const TensorSpec& row, const mluOpTensorStruct& desc) {
    const int64_t count = desc.ElementCount();
    const bool limited = call.spec->limited;
    if (count >= (limited ? kLimitedElements : kElementLimit)) {
      return BrokenRule(call.spec->name, row.name)
          .With(MLUOP_STATUS_NOT_SUPPORTED)
          .Must("have fewer than 2^%d elements", limited ? 31 : 60)
          .Got("%" PRId64, count);
    }
    for (int d = 0; d < desc.rank && count > 0; ++d) {
      if (desc.dims[d] < kDimLimit) continue;
      return BrokenRule(call.spec->name, row.name, "shape", d)
          .With(MLUOP_STATUS_NOT_SUPPORTED)
          .Must("be below 2^31")
          .Got("%" PRId64, desc.dims[d]);
    }
    return MLUOP_STATUS_SUCCESS;
  });
}

}  // namespace mluop
