// SPDX-License-Identifier: Apache-2.0
// What the process environment and the machine say. Each variable is read once.
#pragma once

namespace mluop {

// MLUOP_VERBOSE: 0 silent (default), 1 a line per executed operator, 2 failures too.
int Verbosity();

// MLUOP_VISIBLE_DEVICES, or NULL when it is not set.
const char* VisibleDevices();

// The largest number of threads a handle takes.
inline constexpr int kMaxThreads = 1024;

// MLUOP_NUM_THREADS, else OMP_NUM_THREADS, else what affinity and the control group's quota leave:
// a number in [1, kMaxThreads]. A value that is no positive number counts as not set. Affinity and
// quota are read at each call: they change while a process runs.
int DefaultNumThreads();

}  // namespace mluop
