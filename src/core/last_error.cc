// SPDX-License-Identifier: Apache-2.0
// The thread's last error message, and the names of the statuses.
#include <cstdio>
#include <iterator>

#include "core/broken_rule.h"
#include "core/environment.h"
#include "core/error.h"
#include "mluops/extensions.h"

namespace mluop {
namespace {

thread_local char last_message[512] = "";

// The parts of last_message, if it is about an argument of an operator.
thread_local ErrorParts last_parts;

void KeepMessage(mluOpStatus_t status, const char* message) {
  snprintf(last_message, sizeof(last_message), "%s", message);
  last_parts = {};
  if (Verbosity() >= 2) fprintf(stderr, "# %s: %s\n", mluOpGetErrorString(status), last_message);
}

}  // namespace

constinit StoreMessage store_message = KeepMessage;

void StoreErrorParts(const ErrorParts& parts) { last_parts = parts; }

const char* LastErrorMessage() { return last_message; }

}  // namespace mluop

const char* mluOpGetLastErrorMessage() { return mluop::LastErrorMessage(); }

mluOpStatus_t mluOpGetLastErrorInfo(mluOpErrorInfo_t* info) {
  using mluop::last_parts;
  if (info == nullptr) return mluop::FailNull("mluOpGetLastErrorInfo", "info");
  *info = {last_parts.op,    last_parts.argument, last_parts.property,
           last_parts.index, last_parts.rule,     last_parts.value};
  return MLUOP_STATUS_SUCCESS;
}

const char* mluOpGetErrorString(mluOpStatus_t status) {
  constexpr const char* kNames[] = {
      "MLUOP_STATUS_SUCCESS",           "MLUOP_STATUS_NOT_INITIALIZED",
      "MLUOP_STATUS_ALLOC_FAILED",      "MLUOP_STATUS_BAD_PARAM",
      "MLUOP_STATUS_INTERNAL_ERROR",    "MLUOP_STATUS_ARCH_MISMATCH",
      "MLUOP_STATUS_EXECUTION_FAILED",  "MLUOP_STATUS_NOT_SUPPORTED",
      "MLUOP_STATUS_NUMERICAL_OVERFLOW"};
  static_assert(std::size(kNames) == MLUOP_STATUS_NUMERICAL_OVERFLOW + 1);
  const auto index = static_cast<size_t>(status);  // a negative value becomes a large one
  return index < std::size(kNames) ? kNames[index] : "MLUOP_STATUS_UNKNOWN";
}
