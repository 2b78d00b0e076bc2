// SPDX-License-Identifier: Apache-2.0
// Writes the results of `mluop perf` as JSON and as an HTML report.
#pragma once

#include "figures.h"

namespace mluop::tool {

// Writes the files that the options name. Returns the exit status.
int WriteFigures(const PerfOptions& options, const Figures& figures);

}  // namespace mluop::tool
