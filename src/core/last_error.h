// SPDX-License-Identifier: Apache-2.0
// A violated rule of a call, in parts. libmluops.so only.
#pragma once

#include <string_view>

#include "mlu_op.h"

namespace mluop {

// The strings of mluOpErrorInfo_t, kept for the thread.
struct ErrorParts {
  char op[64] = "";
  char argument[64] = "";
  char property[16] = "";
  int index = -1;
  char rule[160] = "";
  char value[96] = "";
};

// The message reads "<op>: <argument><.property[index]> must <rule>, got <value>". A check reads:
//   return BrokenRule(spec.name, row.name, "shape", d).Must("be below %d", n).Got("%d", size);
class BrokenRule {
 public:
  // `property`: of a tensor, "shape", "dtype", "layout" or "stride".
  BrokenRule(std::string_view op, std::string_view argument, const char* property = "",
             int index = -1);
  [[gnu::format(printf, 2, 3)]] BrokenRule& Must(const char* format, ...);
  BrokenRule& With(mluOpStatus_t status);  // instead of BAD_PARAM

  // Stores the message and its parts for the thread, and returns the status.
  [[gnu::format(printf, 2, 3)]] mluOpStatus_t Got(const char* format, ...);

 private:
  ErrorParts parts_;
  mluOpStatus_t status_ = MLUOP_STATUS_BAD_PARAM;
};

}  // namespace mluop
