// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices where input and output are stored by pixels: the output is one run of
// 16-byte vectors, aligned in memory whatever the rows' lengths, and a thread finds what belongs in
// its vectors. Bound by bytes: a warp has about 200 instructions for 512 bytes of output.
#include "ops/psamask/cuda.h"

namespace mluop::psamask {
namespace {

constexpr int kElements = 4;  // of a vector
// Vectors of a thread: their loads are all on their way before the first store.
constexpr int kVectors = 2;

struct Output {
  int elements;   // of all images
  uint32_t lead;  // elements of the first vector that lie before the tensor
  uint32_t vectors;
  Divider by_grid, by_cols;  // the places of a pixel's grid, and of one row of it
};

// An element of the output, and where the input's row for it would be.
struct Cursor {
  uint32_t from;  // index into the input of output column 0
  int row, col;
  int in_row, shift;

  __device__ Cursor(const Shape& s, const Output& o, int element) {
    const auto [pixel, place] = o.by_grid(element);
    const auto [grid_row, grid_col] = o.by_cols(place);
    const auto [line, w] = s.by_width(pixel);
    row = grid_row;
    col = grid_col;
    in_row = row + s.RowShift(s.by_height(line).remainder);
    shift = s.ColShift(w);
    from = static_cast<uint32_t>(pixel) * s.in_size() + static_cast<uint32_t>(in_row) * s.in_cols +
           static_cast<uint32_t>(shift);
  }

  __device__ uint32_t Load(const Shape& s, const uint32_t* in) const {
    const bool live = s.HasInRow(in_row) && s.HasInCol(col + shift);
    return live ? __ldg(in + (from + static_cast<uint32_t>(col))) : 0;
  }

  // The next element of the same pixel; false where it has none.
  __device__ bool Next(const Shape& s) {
    if (++col == s.out_cols) {
      col = 0;
      ++row;
      ++in_row;
      from += static_cast<uint32_t>(s.in_cols);
    }
    return row < s.out_rows;
  }
};

// The vector's elements from `element` on, all of them in the tensor.
__device__ uint4 LoadVector(const Shape& s, const Output& o, const uint32_t* in, int element) {
  uint32_t value[kElements];
  Cursor cursor(s, o, element);
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    value[i] = cursor.Load(s, in);
    if (i + 1 < kElements && !cursor.Next(s)) cursor = Cursor(s, o, element + i + 1);
  }
  return {value[0], value[1], value[2], value[3]};
}

// What of the vector lies in the tensor.
__device__ void CopyElements(const Shape& s, const Output& o, const CudaTensors& t, int element) {
  const int count = min(kElements, o.elements - element);
  for (int i = max(-element, 0); i < count; ++i) {
    t.out[element + i] = Cursor(s, o, element + i).Load(s, t.in);
  }
}

__global__ void __launch_bounds__(kThreads, kBlocks) CopyRuns(Shape s, Output o, CudaTensors t) {
  constexpr uint32_t kStep = kThreads * kVectors;
  for (uint32_t first = blockIdx.x * kStep; first < o.vectors; first += gridDim.x * kStep) {
    uint4 value[kVectors];
    int element[kVectors];
    bool whole[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      // Beyond the last vector, `elements`: nothing is there.
      const uint32_t vector = first + v * kThreads + threadIdx.x;
      element[v] = vector < o.vectors ? static_cast<int>(vector * kElements - o.lead) : o.elements;
      whole[v] = element[v] >= 0 && element[v] <= o.elements - kElements;
      if (whole[v]) value[v] = LoadVector(s, o, t.in, element[v]);
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (whole[v]) {
        __stcs(reinterpret_cast<uint4*>(t.out + element[v]), value[v]);
      } else {
        CopyElements(s, o, t, element[v]);
      }
    }
  }
}

}  // namespace

void CopyRunsCuda(const Mapping& m, const CudaTensors& tensors, CudaContext& context) {
  const int64_t elements = m.n * m.pixels() * m.out.size();
  const uint32_t lead = ElementAddress(tensors.out) % kElements;
  const int64_t vectors = CeilDiv(elements + lead, kElements);
  const Output output = {static_cast<int>(elements), lead, static_cast<uint32_t>(vectors),
                         Divider(m.out.size()), Divider(m.out.cols)};
  const mluop::Grid grid = {CeilDiv(vectors, kThreads * kVectors), kThreads};
  context.Launch(CopyRuns, grid, ShapeOf(m), output, tensors);
}

}  // namespace mluop::psamask
