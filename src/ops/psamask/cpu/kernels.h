// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU: the implementations' functions. problem.h defines pixel-major and cell-major.
#pragma once

#include "cpu/context.h"
#include "cpu/tuning.h"
#include "ops/psamask/problem.h"

namespace mluop::psamask {

using PsamaskCall = CpuCall<Problem>;

constexpr int64_t kLine = 16;  // floats of a cache line

struct Tensors {
  const float* in;
  float* out;
  bool stream;  // writes the output with non-temporal stores
};

inline Tensors TensorsOf(const PsamaskCall& call) {
  return {static_cast<const float*>(call.arguments.tensors[0].data),
          static_cast<float*>(call.arguments.tensors[1].data),
          static_cast<size_t>(call.p.out_count()) * sizeof(float) >= kStreamBytes};
}

// Pixel-major to pixel-major: copies rows of the grids.
mluOpStatus_t CopyRows(const PsamaskCall& call, void* scratch);

// Cell-major to pixel-major: transposes a row of the input's grids into a tile, then copies rows.
size_t TransposeLoadScratch(const PsamaskCall& call);
mluOpStatus_t TransposeLoad(const PsamaskCall& call, void* scratch);
void DescribeTransposeLoad(const PsamaskCall& call, Plan& plan);

// Pixel-major to cell-major: transposes squares between loads and stores.
mluOpStatus_t TransposeStore(const PsamaskCall& call, void* scratch);

// Cell-major to cell-major: shifts the column of cells of every pixel by the pixel's own distance.
mluOpStatus_t Skew(const PsamaskCall& call, void* scratch);

// Any order: copies element by element.
mluOpStatus_t CopyElements(const PsamaskCall& call, void* scratch);
mluOpStatus_t CopyDoubles(const PsamaskCall& call, void* scratch);

}  // namespace mluop::psamask
