// SPDX-License-Identifier: Apache-2.0
// The sections of `mluop report` about an operator: the checklist of its table, its functional tests and
// its parameter checks. docs/report.md describes the objects.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "machine.h"

namespace mluop::tool {

// {"devices": [...], "layouts": [...], ...}: lists of texts.
Row ChecklistOf(const OpSpec& spec);

// Describes in words how the outputs are compared with the reference.
std::string CriterionOf(const testing::OperatorTest& test);

// Breaks every rule of the operator's table, and of its workspace getter's, once.
Row ParameterChecksOf(std::string_view op);

// The functional tests of one operator on the current device.
class FunctionalTests {
 public:
  // quick: cases run only on the best and the last of the instruction sets, large ones only with
  // default settings. The bits are compared across threads for one small case in eight.
  FunctionalTests(const Selection& selection, const Device& device, bool quick);

  // Runs the case and counts it under every kind it belongs to. Returns whether it passed. A case
  // that the device refuses passes; its kind is "refused by the device".
  bool Run(const testing::Case& c);
  // [{"case", "error"}]: the cases that the device refuses.
  const Row& refused() const { return refused_; }

  // Adds "tests", "worst" and "failures" to the operator's object.
  void AddTo(Row* op) const;

 private:
  struct Count {
    int cases = 0, passed = 0, runs = 0;
  };
  void Add(const std::string& kind, bool passed, int runs);
  bool HasFreeOrder(const testing::Case& c) const;
  void AddFailure(const testing::Case& c, const char* command, const std::string& error);
  void NoteWorst(const testing::Case& c, const std::vector<testing::Comparison>& comparisons);

  Selection selection_;
  bool quick_;
  std::vector<std::string> isas_;  // of the CPU
  int cases_ = 0;
  std::vector<std::pair<std::string, Count>> kinds_;  // in the order of the page
  Row worst_ = Row::array();
  Row failures_ = Row::array();
  Row refused_ = Row::array();
};

}  // namespace mluop::tool
