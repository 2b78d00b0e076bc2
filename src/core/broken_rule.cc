// SPDX-License-Identifier: Apache-2.0
#include "core/broken_rule.h"

#include <cstdarg>
#include <cstdio>

#include "core/error.h"

namespace mluop {

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
  StoreErrorParts(parts_);
  return status_;
}

}  // namespace mluop
