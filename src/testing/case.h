// SPDX-License-Identifier: Apache-2.0
// A case line, "transpose N=1 A=4 B=7  # comment": the input of check, bitwise and perf. A failure
// prints it as a repro.
//
// Every symbol and attribute of the operator's table needs a value. Other keys:
//   dtype=float|half|double
//                      the type T (default float); every operator takes double
//   seed=N             the seed of the random inputs (default 1)
//   data=uniform|special|bits
//                      inputs of type T: in [-1,1), the same with some NaN, Inf and denormals, or
//                      random bits
//   TENSOR=given|absent
//                      for a tensor that the table allows to be absent (default given)
//   and the operator's own options. A key may appear once in a line.
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
  std::map<std::string, std::string, std::less<>> options;  // including defaults
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  uint64_t seed = 1;
  std::string line;  // without the comment

  const std::string& Option(std::string_view name) const { return options.find(name)->second; }
};

// Throws std::invalid_argument with an error message that names the expected input.
Case ParseCase(std::string_view line);

// The cases of a cases.txt. A line "[name]" starts a set; cases before the first are "basic".
struct CaseLine {
  std::string set;
  std::string line;
};
std::vector<CaseLine> ParseCases(std::string_view text);

// The call of a case: descriptors for every tensor that is not absent, without data.
struct CaseCall {
  explicit CaseCall(const Case& test_case);
  std::vector<std::unique_ptr<mluOpTensorStruct>> descs;
  Arguments arguments;
};

// Fills the inputs of a call: inputs of type T according to `data`, the others by the family's
// generator. The data pointer of every input must be set.
void FillInputs(const Case& test_case, const Arguments& arguments);

}  // namespace mluop::testing
