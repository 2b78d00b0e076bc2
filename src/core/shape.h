// SPDX-License-Identifier: Apache-2.0
// The value of a dim of a table's shape in a call.
#pragma once

#include "core/arguments.h"

namespace mluop {

// From attributes and symbols that are all known; INT64_MAX where the product does not fit.
int64_t Evaluate(const Arguments& call, const DimSpec& dim);

}  // namespace mluop
