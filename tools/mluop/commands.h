// SPDX-License-Identifier: Apache-2.0
// The commands of the driver. Each returns the exit status.
#pragma once

#include <string>
#include <vector>

#include "selection.h"

namespace mluop::tool {

int List();
int Describe(const std::string& op);

// Every case on every instruction set, each buffer at either end of its pages, with and without a
// workspace, against the reference.
int Check(const Selection& selection);

// Every case at 1, 2, 3, 7 and 16 threads, twice each: the same bits.
int Bitwise(const Selection& selection);

struct PerfOptions {
  std::string json;                // file; empty: none
  std::string report;              // file; empty: none
  std::vector<int> threads = {0};  // numbers to measure with; 0: the library's own choice
  bool cold = false;               // caches flushed before every run
  double seconds = 0.3;            // of measuring per case
  std::string command;             // what was typed, for the report
};
int Perf(const Selection& selection, const PerfOptions& options);
// The same on a device that is not the CPU, and is the current one.
int PerfOnDevice(const Selection& selection, const PerfOptions& options, Device* device);

}  // namespace mluop::tool
