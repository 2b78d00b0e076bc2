// SPDX-License-Identifier: Apache-2.0
// The instruction sets that the kernels were compiled for and this machine has. Choosing one is for
// tests and benchmarks, and holds for the whole process.
#pragma once

#include <string>
#include <vector>

namespace mluop::testing {

// Best first: "AVX3_DL", "AVX3", "AVX2", "SSE4", ...
std::vector<std::string> SupportedIsas();

// False if the name is not among SupportedIsas().
bool ForceIsa(const std::string& name);

// Back to the best one.
void ResetIsa();

}  // namespace mluop::testing
