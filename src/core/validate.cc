// SPDX-License-Identifier: Apache-2.0
#include "core/validate.h"

#include "core/checks.h"

namespace mluop {
namespace {

constexpr Validation kRun = {Verdict::kRun, MLUOP_STATUS_SUCCESS};
constexpr Validation kNothingToDo = {Verdict::kNothingToDo, MLUOP_STATUS_SUCCESS};

// Runs the checks that need only descriptors and attributes.
Validation ValidateShapes(Arguments& call) {
  mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
  const auto passes = [&](mluOpStatus_t result) {
    return (status = result) == MLUOP_STATUS_SUCCESS;
  };
  bool skip = false;
  const bool passed = passes(CheckRanks(call)) && passes(CheckTypes(call)) &&
                      passes(CheckLayouts(call)) && passes(CheckAttributes(call)) &&
                      passes(CheckShapes(call)) && passes(CheckStrides(call)) &&
                      passes(CheckSizes(call)) && passes(CheckEmptyTensors(call, &skip));
  if (!passed) return {Verdict::kFailed, status};
  return skip ? kNothingToDo : kRun;
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
mluOpStatus_t CheckAttributesOfBinding(const Arguments& call) {
  Arguments copy = call;
  for (int i = 0; i < call.spec->attribute_count; ++i) {
    if (call.attributes[i].number == 0 && IsSizeOfEmptyInput(call, i))
      copy.attributes[i] = Value(1);
  }
  return CheckAttributes(copy);
}

}  // namespace

Validation Validate(Arguments& call) {
  DropPartlyAbsentTensors(call);
  if (mluOpStatus_t status = CheckDescriptors(call)) return {Verdict::kFailed, status};
  const Validation shapes = ValidateShapes(call);
  if (shapes.verdict != Verdict::kRun) return shapes;
  if (mluOpStatus_t status = CheckWorkspace(call)) return {Verdict::kFailed, status};
  if (mluOpStatus_t status = CheckPointers(call)) return {Verdict::kFailed, status};
  if (mluOpStatus_t status = CheckOverlap(call)) return {Verdict::kFailed, status};
  if (mluOpStatus_t status = CheckAlignment(call)) return {Verdict::kFailed, status};
  return kRun;
}

mluOpStatus_t ValidateBinding(Arguments& call) {
  if (mluOpStatus_t status = CheckDescriptors(call)) return status;
  if (mluOpStatus_t status = CheckRanks(call)) return status;
  if (mluOpStatus_t status = CheckTypes(call)) return status;
  if (mluOpStatus_t status = CheckLayouts(call)) return status;
  if (mluOpStatus_t status = CheckAttributesOfBinding(call)) return status;
  if (mluOpStatus_t status = CheckShapes(call)) return status;
  if (mluOpStatus_t status = CheckStrides(call)) return status;
  return CheckSizes(call);
}

Validation ValidateGetter(Arguments& call, const size_t* out) {
  if (mluOpStatus_t status = CheckDescriptors(call)) return {Verdict::kFailed, status};
  if (out == nullptr) {
    return {Verdict::kFailed,
            BrokenRule(call.spec->name, "workspace_size").Must("be a pointer").Got("NULL")};
  }
  return ValidateShapes(call);
}

}  // namespace mluop
