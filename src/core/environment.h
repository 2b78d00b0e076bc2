// SPDX-License-Identifier: Apache-2.0
// Settings from environment variables and the machine. Each variable is read once.
#pragma once

#include <string_view>

namespace mluop {

// MLUOP_VERBOSE: 0 silent (default), 1 a line before and after each operator, 2 also a line per
// failure. Any other value is reported on stderr and ignored. Malformed values of the other
// variables are ignored, and reported from level 1 on.
int Verbosity();

// Prints a comment in the log if MLUOP_VERBOSE is set: the value breaks `rule` and is ignored.
void ReportIgnored(const char* name, const char* rule, std::string_view value);

// Returns the integer that `text` is; -1 if it is not one, or negative.
int ParseLevel(const char* text);

// MLUOP_VISIBLE_DEVICES, or NULL if it is empty or not set.
const char* VisibleDevices();

// The maximum number of threads of a handle.
inline constexpr int kMaxThreads = 1024;

// MLUOP_NUM_THREADS, else OMP_NUM_THREADS, else the number of CPUs that affinity and cgroup quota
// allow: a number in [1, kMaxThreads]. A value that is not a positive number is ignored. Affinity
// and quota are read at each call, because they can change while a process runs.
int DefaultNumThreads();

}  // namespace mluop
