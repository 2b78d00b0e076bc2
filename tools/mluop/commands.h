// SPDX-License-Identifier: Apache-2.0
// The commands of the driver. Each returns the exit status.
#pragma once

#include <string>
#include <vector>

#include "core/implementation.h"
#include "selection.h"

namespace mluop::tool {

int List();
int Describe(const std::string& op);

// Prints how the library computes each selected case: the implementation, its rule, slices,
// scratch.
int DescribePlans(const Selection& selection);

// Compares every implementation that applies to a case with the reference: on every instruction
// set, with each buffer at either end of its pages, with and without a workspace.
int Check(const Selection& selection);
// The same, without the summary. quick: only what the library chooses by default.
Score CheckCases(const Selection& selection, bool quick);

// Fails if the selected cases do not choose every implementation of their operators by default.
int Coverage(const Selection& selection);

// Returns the plan of a call on the handle's device; empty if nothing is to be computed.
Plan PlanOf(const Arguments& arguments, mluOpHandle_t handle);

// One input, one answer: compares the bits across threads, instruction sets, implementations,
// workspaces and alignments, and of each RoI, box or mask alone.
int Bitwise(const Selection& selection);

// Prints the counters of each selected case on a device that counts instead of measuring time.
int PrintCounters(const Selection& selection, Device* device);

struct PerfOptions {
  std::string json;                // file; empty: none
  std::string report;              // file; empty: none
  std::vector<int> threads = {0};  // numbers of threads to measure; 0: the library's default
  bool cold = false;               // flush the caches before every run
  double seconds = 0.3;            // measuring time per case
  std::string command;             // the command line, for the report
  std::string implementation;      // a name; "all": each that applies; empty: the default
  std::vector<std::string> peers;  // files of bench/peers.py, for the page
};
int Perf(const Selection& selection, const PerfOptions& options);
// Returns the implementations of a call that `options` selects; "" is the default.
std::vector<std::string_view> Contestants(const Arguments& arguments, mluOpHandle_t handle,
                                          const PerfOptions& options);

// Checks the selected cases, then measures them. Prints a verdict.
int CheckAndMeasure(const Selection& selection, const PerfOptions& options);

}  // namespace mluop::tool
