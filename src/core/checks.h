// SPDX-License-Identifier: Apache-2.0
// The checks of a call against its table, in the order in which validate.cc makes them. Each relies
// on those before it.
#pragma once

#include "core/arguments.h"
#include "mlu_op.h"

namespace mluop {

// Leaves "<op>: <argument><text>" and returns `status`.
[[gnu::format(printf, 4, 5)]] mluOpStatus_t FailArgument(mluOpStatus_t status, const OpSpec& spec,
                                                         std::string_view argument,
                                                         const char* format, ...);

mluOpStatus_t CheckHandle(mluOpHandle_t handle, const Arguments& call);
mluOpStatus_t CheckDescriptors(const Arguments& call);  // none NULL that must not be
mluOpStatus_t CheckRanks(const Arguments& call);
mluOpStatus_t CheckTypes(const Arguments& call);
mluOpStatus_t CheckLayouts(const Arguments& call);
mluOpStatus_t CheckAttributes(const Arguments& call);
// Gives call.symbols their values: where a symbol stands alone, in the order of the rows; what is
// left is solved for ("4*C"). Then compares every dim.
mluOpStatus_t CheckShapes(Arguments& call);
mluOpStatus_t CheckStrides(const Arguments& call);
mluOpStatus_t CheckSizes(const Arguments& call);
// Sets *skip where an empty tensor leaves nothing to do.
mluOpStatus_t CheckEmpties(const Arguments& call, bool* skip);
mluOpStatus_t CheckWorkspace(const Arguments& call);
mluOpStatus_t CheckPointers(const Arguments& call);
mluOpStatus_t CheckOverlap(const Arguments& call);
mluOpStatus_t CheckAlignment(const Arguments& call);

// Such a workspace is not used: the result must not depend on it.
bool WorkspaceOverlapsInput(const Arguments& call);

}  // namespace mluop
