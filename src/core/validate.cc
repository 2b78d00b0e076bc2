// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>

#include "core/checks.h"

namespace mluop {
namespace {

using Check = mluOpStatus_t (*)(Arguments& call);

// Runs the checks in turn until one fails.
mluOpStatus_t RunChecks(Arguments& call, std::initializer_list<Check> checks) {
  for (const Check check : checks) {
    if (mluOpStatus_t status = check(call)) return status;
  }
  return MLUOP_STATUS_SUCCESS;
}

// Runs the checks that need only descriptors and attributes.
mluOpStatus_t ValidateShapes(Arguments& call, const TensorSpec** empty) {
  const mluOpStatus_t status =
      RunChecks(call, {CheckRanks, CheckTypes, CheckLayouts, CheckAttributes, CheckShapes,
                       CheckStrides, CheckSizes});
  return status == MLUOP_STATUS_SUCCESS ? CheckEmptyTensors(call, empty) : status;
}

// Returns whether the attribute is a size of an empty input.
bool IsSizeOfEmptyInput(const Arguments& call, int attribute) {
  for (int t = 0; t < call.spec->tensor_count; ++t) {
    const TensorSpec& row = call.spec->tensors[t];
    const mluOpTensorStruct* desc = call.tensors[t].desc;
    if (row.direction != kIn || desc == nullptr || desc->ElementCount() != 0) continue;
    for (int d = 0; d < row.rank; ++d) {
      for (int f = 0; f < row.dims[d].factor_count; ++f) {
        const Factor& factor = row.dims[d].factors[f];
        if (factor.kind == Factor::kAttribute && factor.value == attribute) return true;
      }
    }
  }
  return false;
}

// CheckAttributes, with 1 in place of a 0 that is the size of an empty input.
mluOpStatus_t CheckAttributesOfBinding(Arguments& call) {
  Arguments copy = call;
  for (int i = 0; i < call.spec->attribute_count; ++i) {
    if (call.attributes[i].number == 0 && IsSizeOfEmptyInput(call, i))
      copy.attributes[i] = Value(1);
  }
  return CheckAttributes(copy);
}

}  // namespace

mluOpStatus_t Validate(Arguments& call, const TensorSpec** empty) {
  DropPartlyAbsentTensors(call);
  if (mluOpStatus_t status = CheckDescriptors(call)) return status;
  const mluOpStatus_t status = ValidateShapes(call, empty);
  if (status != MLUOP_STATUS_SUCCESS || *empty != nullptr) return status;
  return RunChecks(call, {CheckWorkspace, CheckPointers, CheckOverlap, CheckAlignment});
}

mluOpStatus_t ValidateBinding(Arguments& call) {
  return RunChecks(call, {CheckDescriptors, CheckRanks, CheckTypes, CheckLayouts,
                          CheckAttributesOfBinding, CheckShapes, CheckStrides, CheckSizes});
}

mluOpStatus_t ValidateGetter(Arguments& call, const size_t* out, const TensorSpec** empty) {
  if (mluOpStatus_t status = CheckDescriptors(call)) return status;
  if (out == nullptr) {
    return BrokenRule(call.spec->name, "workspace_size").Must("be a pointer").Got("NULL");
  }
  return ValidateShapes(call, empty);
}

}  // namespace mluop
