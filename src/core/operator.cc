// SPDX-License-Identifier: Apache-2.0
#include "core/operator.h"

#include <chrono>
#include <cstdio>

#include "core/checks.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/implementation.h"
#include "core/validate.h"

namespace mluop {
namespace {

// Runs the operator and prints one line, which the driver accepts as a case.
mluOpStatus_t RunVerbosely(const Arguments& arguments, mluOpContext& handle) {
  using Clock = std::chrono::steady_clock;
  Plan plan;
  static_cast<void>(handle.device->MakePlan(arguments, handle, &plan));
  const auto start = Clock::now();
  const mluOpStatus_t status = handle.device->Run(arguments, handle);
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  char line[512];
  FormatCase(arguments, line, sizeof(line));
  const bool failed = status != MLUOP_STATUS_SUCCESS;
  char where[64];
  if (handle.device->is_synchronous()) {
    snprintf(where, sizeof(where), "%d threads, %.1f us", handle.num_threads, us);
  } else {  // the kernels are still running
    snprintf(where, sizeof(where), "enqueued in %.1f us", us);
  }
  fprintf(stderr, "%s  # %s, %s, %.*s:%.*s, %s%s%s\n", line, handle.device->name(),
          handle.device->architecture(), MLUOP_SV(arguments.spec->name),
          MLUOP_SV(plan.implementation), where, failed ? ", " : "",
          failed ? mluOpGetErrorString(status) : "");
  return status;
}

// Execute, after the handle was reserved.
mluOpStatus_t ExecuteOn(mluOpContext& handle, Arguments& arguments) {
  arguments.double_allowed = handle.double_allowed;
  const Validation validation = Validate(arguments);
  if (validation.verdict != Verdict::kRun) return validation.status;
  if (handle.device->Implementations(*arguments.spec).empty()) {
    return Fail(MLUOP_STATUS_NOT_SUPPORTED, "%.*s: not implemented on device %s",
                MLUOP_SV(arguments.spec->name), handle.device->name());
  }
  if (WorkspaceOverlapsInput(arguments)) arguments.workspace = {};
  if (Verbosity() >= 1) return RunVerbosely(arguments, handle);
  return handle.device->Run(arguments, handle);
}

}  // namespace

mluOpStatus_t ExecuteCall(mluOpHandle_t handle, Arguments& arguments) {
  if (const mluOpStatus_t status = CheckHandle(handle, arguments)) return status;
  const HandleUse use(*handle, arguments.spec->name);
  return use.ok() ? ExecuteOn(*handle, arguments) : MLUOP_STATUS_BAD_PARAM;
}

mluOpStatus_t Execute(const Operator& op, mluOpHandle_t handle,
                      std::initializer_list<Value> attributes,
                      std::initializer_list<TensorArgument> tensors, Workspace workspace) {
  Arguments arguments(op.spec, attributes, tensors, workspace);
  return ExecuteCall(handle, arguments);
}

mluOpStatus_t GetWorkspaceSizeOfCall(mluOpHandle_t handle, Arguments& arguments,
                                     size_t* workspace_size) {
  if (const mluOpStatus_t status = CheckHandle(handle, arguments)) return status;
  const HandleUse use(*handle, arguments.spec->name);
  if (!use.ok()) return MLUOP_STATUS_BAD_PARAM;
  arguments.double_allowed = handle->double_allowed;
  const Validation validation = ValidateGetter(arguments, workspace_size);
  if (validation.verdict == Verdict::kFailed) return validation.status;
  const bool nothing = validation.verdict == Verdict::kNothingToDo;
  *workspace_size = nothing ? 0 : handle->device->WorkspaceBytes(*arguments.spec, arguments);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t GetWorkspaceSize(const OpSpec& spec, mluOpHandle_t handle,
                               std::initializer_list<Value> attributes,
                               std::initializer_list<const mluOpTensorStruct*> tensors,
                               size_t* workspace_size) {
  Arguments arguments(spec, attributes, {}, {});
  TensorArgument* argument = arguments.tensors;
  for (const mluOpTensorStruct* desc : tensors) (argument++)->desc = desc;
  return GetWorkspaceSizeOfCall(handle, arguments, workspace_size);
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
