// SPDX-License-Identifier: Apache-2.0
// The figures of a run of `mluop perf` as one page of HTML that needs nothing else.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "commands.h"

namespace mluop::tool {

using Row = nlohmann::ordered_json;

// The processor's own name.
std::string MachineName();

// Writes the files that the options name. `rows`: one object per case; `ceilings`: one per size.
// Returns the exit status.
int WriteFigures(const PerfOptions& options, const Row& rows, const Row& ceilings);

}  // namespace mluop::tool
