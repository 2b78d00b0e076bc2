// SPDX-License-Identifier: Apache-2.0
// Operators by name: descriptions of their tables, and calls by these tables.
#include <cmath>

#include "core/checks.h"
#include "core/error.h"
#include "core/operator.h"
#include "mluops/extensions.h"

namespace mluop {
namespace {

static_assert(kMaxAttributes == MLUOP_ATTRIBUTE_MAX && kMaxTensors == MLUOP_TENSOR_MAX);

const OpSpec* SpecOf(mluOpOperator_t op) { return reinterpret_cast<const OpSpec*>(op); }

// Table strings are literals, so data() ends with a 0.
mluOpAttributeInfo_t Describe(const AttributeSpec& row) {
  return {row.name.data(), row.kind == AttributeSpec::kPositiveReal, row.min, row.max};
}

mluOpTensorInfo_t Describe(const TensorSpec& row) {
  return {row.name.data(), row.shape.data(), row.direction == kOut,
          row.type == kI32 ? MLUOP_DTYPE_INT32 : MLUOP_DTYPE_INVALID, LayoutOf(row.layout)};
}

mluOpStatus_t FillAttribute(const AttributeSpec& row, double number, Arguments& call, int i) {
  if (row.kind == AttributeSpec::kPositiveReal) {
    call.attributes[i] = Value(static_cast<float>(number));
    return MLUOP_STATUS_SUCCESS;
  }
  if (!(number >= INT32_MIN && number <= INT32_MAX) || number != std::trunc(number)) {
    return BrokenRule(call.spec->name, row.name)
        .Must("be an integer that fits in int32")
        .Got("%.9g", number);
  }
  call.attributes[i] = Value(static_cast<int>(number));
  return MLUOP_STATUS_SUCCESS;
}

// Copies the arrays of a call. `data` is NULL for a call without data.
mluOpStatus_t FillCall(const char* function, mluOpHandle_t handle, const double* attributes,
                       const mluOpTensorDescriptor_t* descs, void* const* data, Arguments& call) {
  if (const mluOpStatus_t status = CheckHandle(handle, call)) return status;
  const OpSpec& spec = *call.spec;
  if (attributes == nullptr && spec.attribute_count > 0) return FailNull(function, "attributes");
  if (descs == nullptr) return FailNull(function, "descs");
  for (int i = 0; i < spec.attribute_count; ++i) {
    const mluOpStatus_t status = FillAttribute(spec.attributes[i], attributes[i], call, i);
    if (status != MLUOP_STATUS_SUCCESS) return status;
  }
  for (int i = 0; i < spec.tensor_count; ++i) {
    call.tensors[i] = TensorArgument(descs[i], data == nullptr ? nullptr : data[i]);
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace
}  // namespace mluop

using namespace mluop;

mluOpStatus_t mluOpFindOperator(const char* name, mluOpOperator_t* op) {
  if (name == nullptr) return FailNull(__func__, "name");
  if (op == nullptr) return FailNull(__func__, "op");
  for (const OpSpec* spec : Tables()) {
    if (spec->name != name) continue;
    *op = reinterpret_cast<mluOpOperator_t>(spec);
    return MLUOP_STATUS_SUCCESS;
  }
  return Fail(MLUOP_STATUS_BAD_PARAM,
              "mluOpFindOperator: name must be the name of an operator, got %s", name);
}

mluOpStatus_t mluOpDescribeOperator(mluOpOperator_t op, mluOpOperatorInfo_t* info) {
  if (op == nullptr) return FailNull(__func__, "op");
  if (info == nullptr) return FailNull(__func__, "info");
  const OpSpec& spec = *SpecOf(op);
  *info = {};
  info->name = spec.name.data();
  info->takes_half = spec.types == kHalfOrFloat;
  info->attribute_count = spec.attribute_count;
  info->tensor_count = spec.tensor_count;
  for (int i = 0; i < spec.attribute_count; ++i) info->attributes[i] = Describe(spec.attributes[i]);
  for (int i = 0; i < spec.tensor_count; ++i) info->tensors[i] = Describe(spec.tensors[i]);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpRunOperator(mluOpHandle_t handle, mluOpOperator_t op, const double attributes[],
                               const mluOpTensorDescriptor_t descs[], void* const data[],
                               void* workspace, size_t workspace_size) {
  if (op == nullptr) return FailNull(__func__, "op");
  Arguments call(*SpecOf(op));
  const mluOpStatus_t status = FillCall(__func__, handle, attributes, descs, data, call);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  if (data == nullptr) return FailNull(__func__, "data");
  call.workspace = {workspace, workspace_size};
  return ExecuteCall(handle, call);
}

mluOpStatus_t mluOpCheckOperator(mluOpHandle_t handle, mluOpOperator_t op,
                                 const double attributes[], const mluOpTensorDescriptor_t descs[]) {
  if (op == nullptr) return FailNull(__func__, "op");
  Arguments call(*SpecOf(op));
  const mluOpStatus_t status = FillCall(__func__, handle, attributes, descs, nullptr, call);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  const HandleGuard guard(*handle, call.spec->name);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  call.double_allowed = handle->double_allowed;
  return ValidateBinding(call);
}

mluOpStatus_t mluOpGetOperatorWorkspaceSize(mluOpHandle_t handle, mluOpOperator_t op,
                                            const double attributes[],
                                            const mluOpTensorDescriptor_t descs[],
                                            size_t* workspace_size) {
  if (op == nullptr) return FailNull(__func__, "op");
  Arguments call(*SpecOf(op));
  const mluOpStatus_t status = FillCall(__func__, handle, attributes, descs, nullptr, call);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  return GetWorkspaceSize(handle, call, workspace_size);
}
