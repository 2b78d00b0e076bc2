// SPDX-License-Identifier: Apache-2.0
// The kernels of the CPU, by how the input and the output are stored (mapping.h).
#pragma once

#include "core/operator.h"
#include "ops/psamask/mapping.h"

namespace mluop::psamask {

struct Tensors {
  const float* in;
  float* out;
  bool stream;  // the output passes by the caches
};

// By pixels to by pixels: runs are copied.
void CopyRuns(const Mapping& m, const Tensors& tensors, Context& context);
// By pixels to by places: squares are transposed on their way out.
void TransposeOut(const Mapping& m, const Tensors& tensors, Context& context);
// By places to by pixels: squares are transposed, then runs copied.
void TransposeIn(const Mapping& m, const Tensors& tensors, Context& context);
// By places to by places: every pixel's column of places is moved by its own shift.
void Skew(const Mapping& m, const Tensors& tensors, Context& context);

// Splits n things into blocks of at most `most`, of equal length up to `unit`, a number of blocks
// that the threads share evenly.
struct Blocks {
  int64_t count, length;

  Blocks(int64_t n, int64_t most, int64_t unit, int threads) {
    const int64_t rounds = (n + most * threads - 1) / (most * threads);
    const int64_t even = (n + rounds * threads - 1) / (rounds * threads);
    length = (even + unit - 1) / unit * unit;
    count = (n + length - 1) / length;
  }
};

}  // namespace mluop::psamask
