// SPDX-License-Identifier: Apache-2.0
// Computes the value of a dim in a table's shape.
#pragma once

#include "core/arguments.h"

namespace mluop {

// All attributes and symbols must be known. Returns INT64_MAX on overflow.
int64_t Evaluate(const Arguments& call, const DimSpec& dim);

}  // namespace mluop
