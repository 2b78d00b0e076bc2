// SPDX-License-Identifier: Apache-2.0
// The instruction sets that the kernels were compiled for and that this machine supports. Forcing
// one is for tests and benchmarks; it applies to the whole process.
#pragma once

#include <string>
#include <vector>

namespace mluop::testing {

// Returns the instruction sets, best first: "AVX3_DL", "AVX3", "AVX2", "SSE4", ...
std::vector<std::string> SupportedIsas();

// Returns false if the name is not in SupportedIsas().
bool ForceIsa(const std::string& name);

// Restores the best one.
void ResetIsa();

}  // namespace mluop::testing
