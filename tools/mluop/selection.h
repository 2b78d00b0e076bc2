// SPDX-License-Identifier: Apache-2.0
// The options that check, bitwise and perf share: the cases, the device, threads, instruction sets.
#pragma once

#include <string>
#include <vector>

#include "core/device.h"
#include "mlu_op.h"
#include "testing/case.h"

namespace mluop::tool {

struct Selection {
  std::vector<std::string> lines;    // cases given on the command line
  std::string set;                   // of the families' cases.txt; empty: all
  std::string op;                    // only this operator or family; empty: all
  std::vector<std::string> files;    // files of cases instead of the built-in ones
  std::string load;                  // an .npz file with the inputs of the one case of `lines`
  std::vector<testing::Case> cases;  // selected before; if not empty, no others are selected
  std::string device = "cpu";        // or "cuda:N"
  std::vector<std::string> isas;     // of the CPU; "all": every one; empty: the command's default
  int threads = 0;                   // 0: the library's default
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
// The same for commands that measure time, which a simulated device does not have.
Device* UseTimedDevice(const Selection& selection);

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

}  // namespace mluop::tool
