// SPDX-License-Identifier: Apache-2.0
// A case that is ready to run: descriptors, read-only inputs, poisoned outputs, and every buffer
// between inaccessible pages.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "testing/accuracy.h"
#include "testing/buffer.h"
#include "testing/case.h"

namespace mluop::testing {

// Calls the operator of a case. Enables double on the handle if the case has type double.
mluOpStatus_t CallCase(const Case& test_case, mluOpHandle_t handle, const Arguments& arguments);

class PreparedCall {
 public:
  // Fills the inputs according to the case.
  PreparedCall(const Case& test_case, Placement placement);
  // Fills the inputs with `fill`.
  PreparedCall(const Case& test_case, Placement placement,
               const std::function<void(const Arguments&)>& fill);
  // Copies the inputs of another call of the same case, which is cheaper than generating them.
  PreparedCall(const PreparedCall& other, Placement placement);

  const Case& test_case() const { return case_; }
  const Arguments& arguments() const { return call_.arguments; }
  const TensorArgument& Output(std::string_view name) const { return arguments().Tensor(name); }

  void PoisonOutputs();
  // Allocates a workspace of that size for later calls; 0 removes it.
  void SetWorkspace(size_t bytes);
  // Returns the result of the operator's getter; 0 without one.
  size_t WantedWorkspace(mluOpHandle_t handle) const;

  mluOpStatus_t Run(mluOpHandle_t handle) const { return CallCase(case_, handle, arguments()); }
  void RunPlain() const { case_.test->plain(arguments()); }

 private:
  void Allocate(Placement placement);
  void ProtectInputs();

  const Case& case_;
  CaseCall call_;
  Placement placement_;
  std::vector<GuardedBuffer> buffers_;  // one per tensor
  std::vector<GuardedBuffer> workspace_;
};

// The comparison of one output with the reference. Exact outputs have no differences.
struct Comparison {
  std::string tensor;
  Criterion criterion;
  Differences differences;
  Threshold threshold;
};

// The expected outputs of a case, and the allowed differences.
class Baseline {
 public:
  explicit Baseline(const PreparedCall& call);

  // Returns "" if the outputs agree, else an error message. Writes the differences of inexact
  // outputs to `details`, and appends one entry per output to `comparisons` if that is not NULL.
  std::string Compare(const PreparedCall& call, std::string* details,
                      std::vector<Comparison>* comparisons = nullptr) const;

 private:
  struct Output {
    std::vector<double> values;  // kDynamic, kFixed
    std::vector<char> bytes;     // kExact, kFamily
    Threshold threshold;
  };
  bool nothing_to_do_;  // the outputs must stay poisoned
  std::map<std::string, Output, std::less<>> outputs_;
};

}  // namespace mluop::testing
