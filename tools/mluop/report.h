// SPDX-License-Identifier: Apache-2.0
// The figures of a run of `mluop perf` as one page of HTML that needs nothing else.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace mluop::tool {

using Row = nlohmann::ordered_json;

// The processor's own name.
std::string MachineName();

// `rows`: one object per case; `ceilings`: one per size; `command`: what was typed.
std::string Report(const Row& rows, const Row& ceilings, const std::string& command);

}  // namespace mluop::tool
