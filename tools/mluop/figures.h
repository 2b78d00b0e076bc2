// SPDX-License-Identifier: Apache-2.0
// The results of `mluop perf`, and their text table.
#pragma once

#include <string>

#include "commands.h"
#include "machine.h"

namespace mluop::tool {

struct Figures {
  Row machine = Row::object();  // CpuFacts(), or the facts of the CUDA device
  std::string caches;           // "hot caches", "cold caches", or how the tensors rotate
  Row ceilings = Row::array();  // one object per size
  Row rows = Row::array();      // one object per case
};

// The object that perf and report write as JSON; docs/report.md describes it. `started` is in seconds
// since 1970.
Row DocumentOf(const Figures& figures, const std::string& command, int64_t started);

// "83.1 us", "4.32 ms".
std::string TimeText(double seconds);

// Returns the case line without the operator's name.
std::string CaseArguments(const Row& row);

// The settings of the row beside the machine's default: threads, instruction set, mode of atomics.
std::string SettingText(const Row& row);

// Prints rows as they are measured, at most 120 columns wide, under a heading per operator.
class Table {
 public:
  // settings: print threads and instruction set in every row.
  Table(bool on_cpu, bool settings) : on_cpu_(on_cpu), settings_(settings) {}
  void PrintHeader(const std::string& caches) const;
  void Print(const Row& row);

 private:
  bool on_cpu_, settings_;
  std::string op_;  // of the last row
};

// Measures the selected cases on the CPU, or on another device, which is the current one.
Figures MeasureOnCpu(const Selection& selection, const PerfOptions& options);
Figures MeasureOnDevice(const Selection& selection, const PerfOptions& options, Device* device);
// Calls MeasureOnCpu or MeasureOnDevice.
Figures MeasureOn(Device* device, const Selection& selection, const PerfOptions& options);

// Compares each case of uneven data with the same case of uniform data, if both were measured.
// Prints the ratio and adds it to the row as ratio_to_uniform.
void CompareDistributions(Figures* figures);

// Prints a summary: speedups, and the operators far from their floor.
void PrintVerdict(const Figures& figures);

}  // namespace mluop::tool
