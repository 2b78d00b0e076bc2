// SPDX-License-Identifier: Apache-2.0
// Recording of calls as cases for the driver: MLUOP_GEN_CASE and mluOpSetGenCaseMode.
#pragma once

#include <climits>
#include <cstddef>
#include <string_view>

#include "core/arguments.h"
#include "core/handle.h"

namespace mluop {

enum class RecordMode : int {
  kOff = 0,
  kShapes = 1,  // a case line per call
  kData = 2,    // with the inputs
  kScreen = 3,  // the case line on stderr, no file
};

// The mode that the last mluOpSetGenCaseMode set, else MLUOP_GEN_CASE.
RecordMode CurrentRecordMode();

// Returns whether MLUOP_GEN_CASE_OP_NAME, such as "a;b" or "-a;-b", selects the operator.
bool IsRecorded(std::string_view op);

// Leaves room for "/<op>/<op>_<pid>_<n>.npz" in a path of PATH_MAX bytes.
inline constexpr size_t kMaxRecordDirectory = PATH_MAX - 256;

// Copies the directory of recorded calls: mluOpSetGenCaseDirectory, else MLUOP_GEN_CASE_DIR, else
// "gen_case". Returns its length.
size_t CopyRecordDirectory(char (&path)[kMaxRecordDirectory + 1]);

// Records a validated call that is about to run. A failure is printed on stderr and leaves the call
// and the thread's error message as they are.
void RecordCall(const Arguments& call, mluOpContext& handle, RecordMode mode);

}  // namespace mluop
