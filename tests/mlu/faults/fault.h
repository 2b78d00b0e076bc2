// SPDX-License-Identifier: Apache-2.0
// The faulty kernels. Each takes `fault`: true runs the defect, false the same kernel without it. The comment
// "FAULT <kernel>" marks the lines at which the defect may be reported.
#pragma once

#include "mluops/runtime.h"

// in and out have kCount floats; four tasks of one cluster take kShare each.
inline constexpr int kCount = 1024;
inline constexpr int kShare = kCount / 4;

struct FaultRun {
  cnrtQueue_t queue;
  const float* in;
  float* out;
  bool fault;
};

// Launches kernel 0 to 3 of a file.
void LaunchCountUnits(int index, const FaultRun& run);
void LaunchForgottenSync(int index, const FaultRun& run);
void LaunchPingPong(int index, const FaultRun& run);
void LaunchStrides(int index, const FaultRun& run);
void LaunchAlignment(int index, const FaultRun& run);
void LaunchNramOverflow(int index, const FaultRun& run);
void LaunchDirection(int index, const FaultRun& run);
void LaunchGdramOperand(int index, const FaultRun& run);
void LaunchBarrier(int index, const FaultRun& run);
void LaunchReadBeforeWrite(int index, const FaultRun& run);
void LaunchOutside(int index, const FaultRun& run);
void LaunchTwoWriters(int index, const FaultRun& run);
// The second set, written independently of the checks. Launches kernel `index` of the list in fault_test.cc.
void LaunchSlipsCounts(int index, const FaultRun& run);
void LaunchSlipsOrder(int index, const FaultRun& run);
void LaunchSlipsMemory(int index, const FaultRun& run);
void LaunchSlipsData(int index, const FaultRun& run);
void LaunchSlips290(int index, const FaultRun& run);
