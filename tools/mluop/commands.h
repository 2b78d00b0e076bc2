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

// What the library would do with each selected case: the implementation and why, slices, scratch.
int DescribePlans(const Selection& selection);

// Every implementation that applies to a case, on every instruction set, each buffer at either end
// of its pages, with and without a workspace, against the reference.
int Check(const Selection& selection);
// The same, without the summary. quick: only what the library chooses by default.
Score CheckCases(const Selection& selection, bool quick);

// Whether the selected cases choose every implementation of their operators by default.
int Coverage(const Selection& selection);

// The plan of a call on the handle's device; empty where there is nothing to compute.
Plan PlanOf(const Arguments& arguments, mluOpHandle_t handle);

// One input, one answer: the same bits whatever the threads, instruction set, implementation,
// workspace and alignment, and of each RoI, box or mask alone.
int Bitwise(const Selection& selection);

struct PerfOptions {
  std::string json;                // file; empty: none
  std::string report;              // file; empty: none
  std::vector<int> threads = {0};  // numbers to measure with; 0: the library's own choice
  bool cold = false;               // caches flushed before every run
  double seconds = 0.3;            // of measuring per case
  std::string command;             // what was typed, for the report
  std::string implementation;      // a name; "all": each that applies; empty: the default
  std::vector<std::string> peers;  // files of bench/peers.py, for the page
};
int Perf(const Selection& selection, const PerfOptions& options);
// The implementations of a call that `options` asks for; "" stands for the default.
std::vector<std::string_view> Contestants(const Arguments& arguments, mluOpHandle_t handle,
                                          const PerfOptions& options);

// Checks the selected cases, then measures them. Prints a verdict.
int CheckAndMeasure(const Selection& selection, const PerfOptions& options);

}  // namespace mluop::tool
