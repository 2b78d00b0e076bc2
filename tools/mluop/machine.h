// SPDX-License-Identifier: Apache-2.0
// Facts about the machine and the build, for the files that perf and report write.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace mluop::tool {

using Row = nlohmann::ordered_json;

// Returns the name of the CPU model.
std::string CpuName();

// {"name", "device": "cpu", "cores", "clock_mhz", "caches": [{"level", "type", "bytes",
// "shared_by"}], "memory_bytes"}. A fact that the system does not report is left out.
Row CpuFacts();

// Returns the bytes of all caches of level 2 and above that the machine's facts list.
double CacheBytes(const Row& machine);

// "2026-01-31T12:00:00Z".
std::string DateText(int64_t seconds_since_1970);

// The commit that the driver was built from, "unknown" outside a checkout. Defined by the build.
extern const char* const kCommit;

}  // namespace mluop::tool
