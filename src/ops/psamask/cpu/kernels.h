// SPDX-License-Identifier: Apache-2.0
// The kernels of the CPU, by how the input and the output are stored (mapping.h).
#pragma once

#include "cpu/context.h"
#include "ops/psamask/cpu/tuning.h"
#include "ops/psamask/mapping.h"

namespace mluop::psamask {

constexpr int64_t kLine = 16;  // floats of a cache line

struct Tensors {
  const float* in;
  float* out;
  bool stream;  // the output passes by the caches
};

// By pixels to by pixels: runs are copied.
void CopyRuns(const Mapping& m, const Tensors& tensors, CpuContext& context);
// By pixels to by places: squares are transposed on their way out.
void TransposeOut(const Mapping& m, const Tensors& tensors, CpuContext& context);
// By places to by pixels: squares are transposed, then runs copied.
void TransposeIn(const Mapping& m, const Tensors& tensors, CpuContext& context);
// By places to by places: every pixel's column of places is moved by its own shift.
void Skew(const Mapping& m, const Tensors& tensors, CpuContext& context);

}  // namespace mluop::psamask
