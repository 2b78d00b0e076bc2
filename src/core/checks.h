// SPDX-License-Identifier: Apache-2.0
// The checks of a call against its table, in the order of the contract (include/mlu_op.h).
#pragma once

#include "core/arguments.h"
#include "core/last_error.h"
#include "mlu_op.h"

namespace mluop {

// Runs all checks. Fills arguments.symbols. If an empty tensor makes the call a no-op, writes its row
// to *empty, else NULL.
mluOpStatus_t Validate(Arguments& arguments, const TensorSpec** empty);

// For workspace getters: runs the checks up to the empty tensors. `out` is the output pointer.
mluOpStatus_t ValidateGetter(Arguments& arguments, const size_t* out, const TensorSpec** empty);

// For mluOpCheckOperator: runs the checks up to CheckSizes. An attribute may be 0 if it is the size
// of an empty input.
mluOpStatus_t ValidateBinding(Arguments& arguments);

// The checks, in the order in which the functions above run them. Each one requires that the checks
// before it succeeded.
mluOpStatus_t CheckHandle(mluOpHandle_t handle, const Arguments& call);
mluOpStatus_t CheckDescriptors(Arguments& call);  // not NULL, unless optional
// Sets descriptor and pointer of a tensor to NULL if one of them is NULL and the table says that
// this suffices to omit it.
void DropPartlyAbsentTensors(Arguments& call);
mluOpStatus_t CheckRanks(Arguments& call);
mluOpStatus_t CheckTypes(Arguments& call);
mluOpStatus_t CheckLayouts(Arguments& call);
mluOpStatus_t CheckAttributes(Arguments& call);
// Assigns values to call.symbols: from dims that are a symbol alone, in the order of the rows, then
// by solving products ("4*C"). Then checks every dim.
mluOpStatus_t CheckShapes(Arguments& call);
mluOpStatus_t CheckStrides(Arguments& call);
mluOpStatus_t CheckSizes(Arguments& call);
mluOpStatus_t CheckEmptyTensors(const Arguments& call, const TensorSpec** empty);
mluOpStatus_t CheckWorkspace(Arguments& call);
mluOpStatus_t CheckPointers(Arguments& call);
mluOpStatus_t CheckOverlap(Arguments& call);
mluOpStatus_t CheckAlignment(Arguments& call);

// Returns whether the workspace overlaps an input. Such a workspace is ignored, because scratch
// would overwrite the input.
bool WorkspaceOverlapsInput(const Arguments& call);

}  // namespace mluop
