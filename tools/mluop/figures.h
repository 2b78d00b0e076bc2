// SPDX-License-Identifier: Apache-2.0
// The results of `mluop perf`, and their text table.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "commands.h"

namespace mluop::tool {

using Row = nlohmann::ordered_json;

struct Figures {
  std::string machine;          // display name of the measured device
  std::string caches;           // "hot", "cold", or how the tensors rotate
  Row ceilings = Row::array();  // one object per size
  Row rows = Row::array();      // one object per case
};

// Returns the CPU's model name.
std::string MachineName();

// "83.1 us", "4.32 ms".
std::string TimeText(double seconds);

// Returns the case line without the operator's name.
std::string CaseArguments(const Row& row);

// Returns the settings of a row: threads and instruction set, or the atomics mode.
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

// Prints a summary: speedups, and the operators far from their floor.
void PrintVerdict(const Figures& figures);

}  // namespace mluop::tool
