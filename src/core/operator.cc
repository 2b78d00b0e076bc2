// SPDX-License-Identifier: Apache-2.0
#include "core/operator.h"

#include "core/checks.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/log.h"
#include "core/record.h"

namespace mluop {
namespace {

// Runs a call on a handle that is reserved for it.
mluOpStatus_t ExecuteOn(mluOpContext& handle, Arguments& arguments) {
  arguments.double_allowed = handle.double_allowed;
  const bool logs = Verbosity() >= 1;
  const TensorSpec* empty = nullptr;
  if (mluOpStatus_t status = Validate(arguments, &empty)) return status;
  if (empty != nullptr) {
    if (logs) LogEmptyCall(arguments, handle, *empty);
    return MLUOP_STATUS_SUCCESS;
  }
  if (handle.device->Implementations(*arguments.spec).empty()) {
    return Fail(MLUOP_STATUS_NOT_SUPPORTED, "%.*s: not implemented on device %s",
                MLUOP_SV(arguments.spec->name), handle.device->name());
  }
  const size_t workspace_size = arguments.workspace.size;
  if (WorkspaceOverlapsInput(arguments)) arguments.workspace = {};
  if (const RecordMode mode = CurrentRecordMode(); mode != RecordMode::kOff) {
    RecordCall(arguments, handle, mode);
  }
  if (logs) return RunLogged(arguments, handle, workspace_size);
  return handle.device->Run(arguments, handle);
}

}  // namespace

mluOpStatus_t ExecuteCall(mluOpHandle_t handle, Arguments& arguments) {
  if (const mluOpStatus_t status = CheckHandle(handle, arguments)) return status;
  const HandleGuard guard(*handle, arguments.spec->name);
  return guard.ok() ? ExecuteOn(*handle, arguments) : MLUOP_STATUS_BAD_PARAM;
}

mluOpStatus_t Execute(const Operator& op, mluOpHandle_t handle,
                      std::initializer_list<Value> attributes,
                      std::initializer_list<TensorArgument> tensors, Workspace workspace) {
  Arguments arguments(op.spec, attributes, tensors, workspace);
  return ExecuteCall(handle, arguments);
}

mluOpStatus_t GetWorkspaceSize(mluOpHandle_t handle, Arguments arguments, size_t* workspace_size) {
  if (const mluOpStatus_t status = CheckHandle(handle, arguments)) return status;
  const HandleGuard guard(*handle, arguments.spec->name);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  arguments.double_allowed = handle->double_allowed;
  const TensorSpec* empty = nullptr;
  if (mluOpStatus_t status = ValidateGetter(arguments, workspace_size, &empty)) return status;
  *workspace_size =
      empty != nullptr ? 0 : handle->device->WorkspaceBytes(*arguments.spec, arguments);
  return MLUOP_STATUS_SUCCESS;
}

std::span<const OpSpec* const> Tables() {
  struct All {
    const OpSpec* tables[kMaxTables] = {};
    size_t count = 0;
    All() {
      for (const Family* family : Families()) {
        for (const Operator* op : family->operators) tables[count++] = &op->spec;
        for (const OpSpec* getter : family->getters) tables[count++] = getter;
      }
    }
  };
  static const All all;
  return {all.tables, all.count};
}

}  // namespace mluop
