// SPDX-License-Identifier: Apache-2.0
// What any function that returns a status must do: succeed where its arguments are legal; else name itself in a
// sentence.
#pragma once

#include <string>
#include <string_view>

#include "mluops/runtime.h"
#include "tests/fuzz/bytes.h"

namespace mluop::fuzz {

inline void RequireAnswer(bool legal, bool succeeded, const char* function) {
  Require(legal == succeeded, legal ? "must succeed" : "must be refused", function);
  if (legal) return;
  const std::string start = std::string(function) + ": ";
  const std::string_view sentence = mluOpGetLastErrorMessage();
  Require(sentence.substr(0, start.size()) == start && sentence.size() > start.size(),
          "a failure must leave a sentence that names the function", function);
}

// Of the functions of mlu_op.h: what is not legal is BAD_PARAM.
inline void RequireStatus(bool legal, mluOpStatus_t status, const char* function) {
  RequireAnswer(legal, status == MLUOP_STATUS_SUCCESS, function);
  Require(legal || status == MLUOP_STATUS_BAD_PARAM, "must be BAD_PARAM", function);
}

// Of the functions of mluops/runtime.h.
inline void RequireResult(bool legal, cnrtRet_t result, const char* function) {
  RequireAnswer(legal, result == cnrtSuccess, function);
  Require(legal || result == cnrtErrorArgsInvalid, "must be cnrtErrorArgsInvalid", function);
}

}  // namespace mluop::fuzz
