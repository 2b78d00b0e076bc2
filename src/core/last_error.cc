// SPDX-License-Identifier: Apache-2.0
// The thread's last error message with its parts, and the names of the statuses.
#include "core/last_error.h"

#include <cstdarg>
#include <cstdio>
#include <iterator>

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

BrokenRule::BrokenRule(std::string_view op, std::string_view argument, const char* property,
                       int index) {
  snprintf(parts_.op, sizeof(parts_.op), "%.*s", MLUOP_SV(op));
  snprintf(parts_.argument, sizeof(parts_.argument), "%.*s", MLUOP_SV(argument));
  snprintf(parts_.property, sizeof(parts_.property), "%s", property);
  parts_.index = index;
}

BrokenRule& BrokenRule::Must(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(parts_.rule, sizeof(parts_.rule), format, arguments);
  va_end(arguments);
  return *this;
}

BrokenRule& BrokenRule::With(mluOpStatus_t status) {
  status_ = status;
  return *this;
}

mluOpStatus_t BrokenRule::Got(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(parts_.value, sizeof(parts_.value), format, arguments);
  va_end(arguments);
  char place[40] = "";
  const char* dot = parts_.property[0] != '\0' ? "." : "";
  if (parts_.index >= 0) snprintf(place, sizeof(place), "[%d]", parts_.index);
  static_cast<void>(Fail(status_, "%s: %s%s%s%s must %s, got %s", parts_.op, parts_.argument, dot,
                         parts_.property, place, parts_.rule, parts_.value));
  last_parts = parts_;
  return status_;
}

}  // namespace mluop

const char* mluOpGetLastErrorMessage() { return mluop::last_message; }

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
