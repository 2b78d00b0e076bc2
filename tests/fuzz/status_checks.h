// SPDX-License-Identifier: Apache-2.0
// Requirements of every function that returns a status. It succeeds if its arguments are legal,
// else it sets an error message that starts with its name.
#pragma once

#include <string>
#include <string_view>

#include "mluops/runtime.h"
#include "tests/fuzz/bytes.h"

namespace mluop::fuzz {

inline void RequireStatusAndMessage(bool legal, bool succeeded, const char* function) {
  Require(legal == succeeded, legal ? "must succeed" : "must be rejected", function);
  if (legal) return;
  const std::string start = std::string(function) + ": ";
  const std::string_view message = mluOpGetLastErrorMessage();
  Require(message.substr(0, start.size()) == start && message.size() > start.size(),
          "a failure must leave a message that names the function", function);
}

// For the functions of mlu_op.h: illegal arguments return BAD_PARAM.
inline void RequireStatus(bool legal, mluOpStatus_t status, const char* function) {
  RequireStatusAndMessage(legal, status == MLUOP_STATUS_SUCCESS, function);
  Require(legal || status == MLUOP_STATUS_BAD_PARAM, "must be BAD_PARAM", function);
}

// For the functions of mluops/runtime.h.
inline void RequireResult(bool legal, cnrtRet_t result, const char* function) {
  RequireStatusAndMessage(legal, result == cnrtSuccess, function);
  Require(legal || result == cnrtErrorArgsInvalid, "must be cnrtErrorArgsInvalid", function);
}

}  // namespace mluop::fuzz
