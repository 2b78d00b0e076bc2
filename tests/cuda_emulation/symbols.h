// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace emulation {

// Returns the name of a function of this library from the file's symbol table, or its offset.
std::string NameOfKernel(const void* kernel);

}  // namespace emulation
