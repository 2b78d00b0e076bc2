// SPDX-License-Identifier: Apache-2.0
// One case on the current device, which is not the CPU. "" or what was wrong.
#pragma once

#include <string>

#include "selection.h"

namespace mluop::tool {

// Both modes, tensors aligned well and badly, with and without a workspace, against the reference.
std::string CheckOnDevice(const testing::Case& c, std::string* details);

// The same call again and again, on more than one handle: the same bits.
std::string BitwiseOnDevice(const testing::Case& c);

}  // namespace mluop::tool
