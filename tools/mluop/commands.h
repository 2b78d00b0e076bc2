// SPDX-License-Identifier: Apache-2.0
// The commands of the driver. Each returns the exit status and fills the document that --json writes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/implementation.h"
#include "machine.h"
#include "score.h"
#include "selection.h"
#include "testing/prepared_call.h"

namespace mluop::tool {

int List(Row* document);
int Describe(const std::string& op, Row* document);

// The rules of a table, in the words of describe.
std::string RuleText(const AttributeSpec& row);
std::string ShapeText(const OpSpec& spec, const TensorSpec& row);
std::string EmptyText(WhenEmpty rule);

// Prints how the library computes each selected case: the implementation, its rule, slices,
// scratch.
int DescribePlans(const Selection& selection, Row* document);

// The runs of one case, each compared with the reference. A failure stops them.
struct CaseResult {
  std::string error;                // of the last run; "" if all passed
  std::string details;              // the differences of the last run
  int runs = 0;                     // 0: the device refuses the call
  std::map<std::string, int> isas;  // number of runs; "" on other devices than the CPU
  std::map<std::string, int> implementations;
  std::vector<testing::Comparison> comparisons;  // one per run and output
};
// quick: runs only the implementation that the library chooses by default.
CaseResult CheckCase(const testing::Case& c, const Selection& selection,
                     const std::vector<std::string>& isas, bool quick);

// Compares every implementation that applies to a case with the reference, on every instruction
// set. Each buffer is at either end of its pages, with and without a workspace.
int Check(const Selection& selection, Row* document);
// The same, without the summary. `quick` is as in CheckCase.
Score CheckCases(const Selection& selection, bool quick);

// Fails if the selected cases do not choose every implementation of their operators by default.
int Coverage(const Selection& selection, Row* document);

// Returns the plan of a call on the handle's device; empty if nothing is to be computed or if the
// device refuses the call.
Plan PlanOf(const Arguments& arguments, mluOpHandle_t handle);

// One input, one answer: compares the bits across threads, instruction sets, implementations,
// workspaces and alignments, and of each RoI, box or mask alone.
int Bitwise(const Selection& selection, Row* document);
// The same for one case. Returns "" or the first difference.
std::string BitwiseError(const testing::Case& c, const std::vector<std::string>& isas);

// Prints the counters of each selected case on a device that counts instead of measuring time.
// Returns an array of {"case", "op", "bytes", "operations", "counters"}.
Row CountCases(const Selection& selection, const Device& device);

struct PerfOptions {
  std::string report;              // file; empty: none
  std::vector<int> threads = {0};  // numbers of threads to measure; 0: the library's default
  bool cold = false;               // flush the caches before every run
  bool plain = true;               // time the plain loops too
  double seconds = 0.3;            // measuring time per case
  std::string command;             // the command line, for the report
  std::string implementation;      // a name; "all": each that applies; empty: the default
  std::vector<std::string> peers;  // JSON files of bench/peers.py, for the report
  std::string checked;             // run: the date of the checks to rely on; empty: check now
};
int Perf(const Selection& selection, const PerfOptions& options, Row* document);
// Returns the implementations of a call that `options` selects; "" is the default.
std::vector<std::string_view> SelectedImplementations(const Arguments& arguments,
                                                      mluOpHandle_t handle,
                                                      const PerfOptions& options);

// Converts test cases of MLU-OPS to case files in `folder`; empty: beside each file.
int Convert(const std::vector<std::string>& files, const std::string& folder, Row* document);

struct ReportOptions {
  PerfOptions perf;
  std::string out = "mluop_report";  // folder
  bool quick = false;                // fewer checks per case, shorter measurements
  std::vector<std::string> links;    // "NAME=FILE": results of other commands
};
// Writes the test report of the operators: a page and a JSON file.
int Report(const Selection& selection, const ReportOptions& options, Row* document);

// Checks the selected cases unless options.checked is set, then measures them. Prints a verdict.
int CheckAndMeasure(const Selection& selection, const PerfOptions& options, Row* document);

}  // namespace mluop::tool
