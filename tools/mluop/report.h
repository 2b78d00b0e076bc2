// SPDX-License-Identifier: Apache-2.0
// Writes the results of `mluop perf` as a self-contained HTML page.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "commands.h"

namespace mluop::tool {

using Row = nlohmann::ordered_json;

// Returns the name of the CPU.
std::string MachineName();

// Writes the files named in the options. `rows`: one object per case; `ceilings`: one per size.
// Returns the exit status.
int WriteFigures(const PerfOptions& options, const Row& rows, const Row& ceilings);

}  // namespace mluop::tool
