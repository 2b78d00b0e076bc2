// SPDX-License-Identifier: Apache-2.0
#include "core/operator.h"

#include <chrono>
#include <cstdio>
#include <new>

#include "core/checks.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/validate.h"

namespace mluop {
namespace {

// One line per executed operator, which the driver takes as a case.
mluOpStatus_t RunVerbosely(const Operator& op, const Arguments& arguments, mluOpContext& handle) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const mluOpStatus_t status = handle.device->Run(op, arguments, handle);
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  char line[512];
  FormatCase(arguments, line, sizeof(line));
  const bool failed = status != MLUOP_STATUS_SUCCESS;
  char where[64];
  if (handle.device == CpuDevice()) {
    snprintf(where, sizeof(where), "%d threads, %.1f us", handle.threads.num_threads(), us);
  } else {  // the work itself goes on
    snprintf(where, sizeof(where), "enqueued in %.1f us", us);
  }
  fprintf(stderr, "%s  # %s, %s, %s%s%s\n", line, handle.device->name(),
          handle.device->implementation(), where, failed ? ", " : "",
          failed ? mluOpGetErrorString(status) : "");
  return status;
}

}  // namespace

void* Context::Scratch(size_t bytes) {
  if (workspace_.size >= WorkspaceFor(bytes)) {
    const auto address = reinterpret_cast<uintptr_t>(workspace_.data);
    return static_cast<char*>(workspace_.data) + (kAlignment - address % kAlignment) % kAlignment;
  }
  void* const scratch = handle_.scratch.Reserve(bytes);
  if (scratch == nullptr && bytes > 0) throw std::bad_alloc();
  return scratch;
}

mluOpStatus_t Execute(const Operator& op, mluOpHandle_t handle,
                      std::initializer_list<Value> attributes,
                      std::initializer_list<TensorArgument> tensors, Workspace workspace) {
  Arguments arguments(op.spec, attributes, tensors, workspace);
  const Validation validation = Validate(handle, arguments);
  if (validation.verdict != Verdict::kRun) return validation.status;
  if (!handle->device->Has(op)) {
    return Fail(MLUOP_STATUS_NOT_SUPPORTED,
                "%.*s: device must be one that has this operator, got %s", MLUOP_SV(op.spec.name),
                handle->device->name());
  }
  if (WorkspaceOverlapsInput(arguments)) arguments.workspace = {};
  if (Verbosity() >= 1) return RunVerbosely(op, arguments, *handle);
  return handle->device->Run(op, arguments, *handle);
}

mluOpStatus_t GetWorkspaceSize(const OpSpec& spec, mluOpHandle_t handle,
                               std::initializer_list<Value> attributes,
                               std::initializer_list<const mluOpTensorStruct*> tensors,
                               size_t* workspace_size, WorkspaceSize size) {
  Arguments arguments(spec, attributes, {}, {});
  TensorArgument* argument = arguments.tensors;
  for (const mluOpTensorStruct* desc : tensors) (argument++)->desc = desc;
  const Validation validation = ValidateGetter(handle, arguments, workspace_size);
  if (validation.verdict == Verdict::kFailed) return validation.status;
  const bool nothing = validation.verdict == Verdict::kNothingToDo;
  *workspace_size = nothing ? 0 : handle->device->WorkspaceBytes(spec, arguments, size);
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop
