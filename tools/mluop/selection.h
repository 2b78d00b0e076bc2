// SPDX-License-Identifier: Apache-2.0
// The options that check, bitwise and perf share: the cases, the device, threads, instruction sets.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/device.h"
#include "mlu_op.h"
#include "testing/case.h"

namespace mluop::tool {

struct Selection {
  std::vector<std::string> lines;  // cases given on the command line
  std::string set;                 // of the families' cases.txt; empty: all
  std::string op;                  // only this operator or family; empty: all
  std::vector<std::string> files;  // files of cases instead of the built-in ones
  std::string load;                // an .npz file with the inputs of the one case of `lines`
  std::string device = "cpu";      // or "cuda:N"
  std::vector<std::string> isas;   // of the CPU; "all": every one; empty: the command's default
  int threads = 0;                 // 0: the library's default
  bool verbose = false;
};

// Returns the sets of the built-in cases: "basic, documents, large, networks".
std::string SetNames();

// Returns the selected cases, in order. Throws std::invalid_argument.
std::vector<testing::Case> SelectCases(const Selection& selection);

// Returns the cases grouped by operator, operators in the order of their first case.
std::vector<testing::Case> GroupByOperator(std::vector<testing::Case> cases);

// Returns the selected instruction sets, or `fallback` if none. Throws std::invalid_argument.
std::vector<std::string> SelectIsas(const Selection& selection, std::vector<std::string> fallback);

// Makes the selected device the thread's current one and returns it. Throws std::invalid_argument.
Device* UseDevice(const Selection& selection);

// Owns a handle on the current device with `threads` threads; 0: the default.
class Handle {
 public:
  explicit Handle(int threads);
  ~Handle() { mluOpDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  mluOpHandle_t get() const { return handle_; }
  int threads() const;

 private:
  mluOpHandle_t handle_ = nullptr;
};

// Updates the progress line; prints nothing if stderr is not a terminal. Stores the case for the
// fault handler.
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
  // Prints "N passed, N failed", and how many did not run; returns the exit status.
  int Print() const;

  int passed = 0, failed = 0;

 private:
  std::map<std::string, int> skipped_;  // by reason
  const char* command_;
  const Selection& selection_;
};

// On a memory fault, prints the command that reproduces it and exits.
void InstallFaultHandler(const char* command);

}  // namespace mluop::tool
