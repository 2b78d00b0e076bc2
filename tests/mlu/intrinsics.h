// SPDX-License-Identifier: Apache-2.0
// The kernels of intrinsics.mlu. `in` and `out` have kValues floats.
#pragma once

#include "mluops/runtime.h"

inline constexpr int kValues = 4096;

enum class Group {
  kRounding,
  kHalf,
  kNan,
  kArgmax,
  kLayout,
  kSelection,
  kReduceSum,
  kPool,
  kFusion,
  kCopies,
  kAtomics,
  kGather,
  kDivision,
  kPipeline,
  kMemoryCoreTaskId,
  kScalarWrites,
  kBitIndex
};

void LaunchGroup(Group group, cnrtQueue_t queue, const float* in, float* out);
