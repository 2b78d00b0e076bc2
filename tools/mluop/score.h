// SPDX-License-Identifier: Apache-2.0
// Shared by check, bitwise and report: the progress over the cases, the count of their results, and
// the handler of memory faults.
#pragma once

#include <map>
#include <string>

#include "machine.h"
#include "selection.h"

namespace mluop::tool {

// Updates the progress line. Stores the case for the fault handler.
void ShowProgress(size_t index, size_t count, const testing::Case& c);
void EndProgress();

// Counts the cases of a command that passed and failed, and prints the failures.
class Score {
 public:
  Score(const char* command, const Selection& selection)
      : command_(command), selection_(selection) {}

  // `error`: "" if the case passed.
  void Add(const testing::Case& c, const std::string& error);
  // Counts a case that did not run. `why`: "refused", ...; `details` are shown with --verbose.
  void Skip(const testing::Case& c, const std::string& why, const std::string& details);
  // Counts a case that the device refused: a failure, unless the device is simulated or the case is
  // the user's. The error message is the thread's last one.
  void Refuse(const testing::Case& c, const Device& device);
  // Prints "N passed, N failed", and how many did not run; returns the exit status.
  int Print() const;
  // {"device", "passed", "failed", "skipped": {reason: count}, "cases": [{"case", "result", ...}]}.
  Row Document() const;

  int passed = 0, failed = 0;

 private:
  std::map<std::string, int> skipped_;  // by reason
  Row cases_ = Row::array();
  const char* command_;
  const Selection& selection_;
};

// Returns the command that runs a case again, such as "mluop check --device cuda:0 'CASE'".
std::string RepeatCommand(const char* command, const Selection& selection, const testing::Case& c);

// On a memory fault, prints the command that reproduces it and exits.
void InstallFaultHandler(const char* command, const Selection& selection);

}  // namespace mluop::tool
