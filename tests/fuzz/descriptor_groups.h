// SPDX-License-Identifier: Apache-2.0
// Groups of descriptors: made, set and destroyed all or none.
#pragma once

#include "mlu_op.h"
#include "tests/fuzz/bytes.h"

namespace mluop::fuzz {

constexpr int kDescriptors = 3;

// One call of a function on groups, with any values.
void TryGroup(mluOpTensorDescriptor_t (&descs)[kDescriptors], Bytes& bytes);

}  // namespace mluop::fuzz
