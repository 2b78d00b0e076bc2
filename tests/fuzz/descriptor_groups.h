// SPDX-License-Identifier: Apache-2.0
// Group functions act on all descriptors or on none.
#pragma once

#include "mlu_op.h"
#include "tests/fuzz/bytes.h"

namespace mluop::fuzz {

constexpr int kDescriptors = 3;

// Calls one group function with random values.
void TryGroup(mluOpTensorDescriptor_t (&descs)[kDescriptors], Bytes& bytes);

}  // namespace mluop::fuzz
