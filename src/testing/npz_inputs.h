// SPDX-License-Identifier: Apache-2.0
// The inputs of a call from an .npz file, one array per input, named as the tensor. Functions throw
// std::invalid_argument with the path and the rule that the file breaks.
#pragma once

#include <string>

#include "core/arguments.h"

namespace mluop::testing {

// Checks names, types and shapes, without the data.
void CheckInputFile(const std::string& path, const Arguments& arguments);

// Fills the inputs. The data pointer of every input must be set.
void LoadInputs(const std::string& path, const Arguments& arguments);

}  // namespace mluop::testing
