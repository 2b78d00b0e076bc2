// SPDX-License-Identifier: Apache-2.0
// A case line, "transpose N=1 A=4 B=7  # comment": the input of check, bitwise and perf, and what a
// failure prints so that it can be repeated.
//
// Every symbol and attribute of the operator's table needs a value. Beyond them:
//   dtype=float|half   the type T (default float)
//   seed=N             of the random inputs (default 1)
//   data=uniform|special|bits
//                      inputs of type T: in [-1,1), the same strewn with NaN, Inf and denormals,
//                      or any bits at all
//   TENSOR=given|absent
//                      of a tensor that the table lets be absent (default given)
//   and the operator's own options. A key stands once in a line.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "testing/operator_test.h"

namespace mluop::testing {

struct Case {
  const Operator* op = nullptr;
  const OperatorTest* test = nullptr;
  std::map<std::string, double, std::less<>> values;        // attributes and symbols
  std::map<std::string, std::string, std::less<>> options;  // all of them, defaults filled in
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  uint64_t seed = 1;
  std::string line;  // without the comment

  const std::string& Option(std::string_view name) const { return options.find(name)->second; }
};

// Throws std::invalid_argument with a sentence that says what was expected.
Case ParseCase(std::string_view line);

// The cases of a cases.txt. A line "[name]" starts a set; cases before the first are "basic".
struct CaseLine {
  std::string set;
  std::string line;
};
std::vector<CaseLine> ParseCases(std::string_view text);

// A call made of a case: descriptors for every tensor that is not absent, and no data yet.
struct CaseCall {
  explicit CaseCall(const Case& test_case);
  std::vector<std::unique_ptr<mluOpTensorStruct>> descs;
  Arguments arguments;
};

// Fills the inputs of a call: those of type T as the case's `data` says, the others by the family.
// Every input's data pointer is set.
void FillInputs(const Case& test_case, const Arguments& arguments);

}  // namespace mluop::testing
