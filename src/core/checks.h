// SPDX-License-Identifier: Apache-2.0
// The checks of a call against its table, in the order in which validate.cc runs them. Each one
// requires that the checks before it succeeded.
#pragma once

#include "core/arguments.h"
#include "core/broken_rule.h"
#include "mlu_op.h"

namespace mluop {

mluOpStatus_t CheckHandle(mluOpHandle_t handle, const Arguments& call);
mluOpStatus_t CheckDescriptors(const Arguments& call);  // not NULL, unless optional
// Sets descriptor and pointer of a tensor to NULL if one of them is NULL and the table says that
// this suffices to omit it.
void DropPartlyAbsentTensors(Arguments& call);
mluOpStatus_t CheckRanks(const Arguments& call);
mluOpStatus_t CheckTypes(const Arguments& call);
mluOpStatus_t CheckLayouts(const Arguments& call);
mluOpStatus_t CheckAttributes(const Arguments& call);
// Assigns values to call.symbols: from dims that are a symbol alone, in the order of the rows, then
// by solving products ("4*C"). Then checks every dim.
mluOpStatus_t CheckShapes(Arguments& call);
mluOpStatus_t CheckStrides(const Arguments& call);
mluOpStatus_t CheckSizes(const Arguments& call);
// Sets *skip if an empty tensor makes the call a no-op.
mluOpStatus_t CheckEmptyTensors(const Arguments& call, bool* skip);
mluOpStatus_t CheckWorkspace(const Arguments& call);
mluOpStatus_t CheckPointers(const Arguments& call);
mluOpStatus_t CheckOverlap(const Arguments& call);
mluOpStatus_t CheckAlignment(const Arguments& call);

// Returns whether the workspace overlaps an input. Such a workspace is ignored, because scratch
// would overwrite the input.
bool WorkspaceOverlapsInput(const Arguments& call);

}  // namespace mluop
