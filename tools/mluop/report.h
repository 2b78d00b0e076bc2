// SPDX-License-Identifier: Apache-2.0
// The figures of a run of `mluop perf` as one page of HTML that needs nothing else.
#pragma once

#include "figures.h"

namespace mluop::tool {

// Writes the files that the options name. Returns the exit status.
int WriteFigures(const PerfOptions& options, const Figures& figures);

}  // namespace mluop::tool
