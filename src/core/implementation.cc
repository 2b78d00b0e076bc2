// SPDX-License-Identifier: Apache-2.0
#include "core/implementation.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace mluop {

void Plan::Add(const char* format, ...) {
  const size_t used = std::strlen(details);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(details + used, sizeof(details) - used, format, arguments);
  va_end(arguments);
  std::strncat(details, "\n", sizeof(details) - 1 - std::strlen(details));
}

mluOpStatus_t FailNoImplementation(const OpSpec& spec, std::string_view forced) {
  if (forced.empty()) {
    return Fail(MLUOP_STATUS_NOT_SUPPORTED, "%.*s: no implementation applies to this call",
                MLUOP_SV(spec.name));
  }
  return Fail(MLUOP_STATUS_NOT_SUPPORTED, "%.*s: implementation %.*s does not apply to this call",
              MLUOP_SV(spec.name), MLUOP_SV(forced));
}

}  // namespace mluop
