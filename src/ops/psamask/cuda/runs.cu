// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices where input and output are stored by pixels: the output is one run of
// 16-byte vectors, aligned in memory whatever the rows' lengths, and a thread finds what belongs in
// its vectors. Bound by bytes: a warp has about 200 instructions for 512 bytes of output.
#include "ops/psamask/cuda/kernels.h"

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

// Where an element of the output comes from, and with it those of the same row of its grid: the
// element i after it is i after `from`, where the input has column in_col + i.
struct Cursor {
  int row, col;  // of the output's grid
  int in_row, in_col;
  uint32_t from;  // index into the input; wraps where in_row or in_col lie outside

  __device__ Cursor(const Shape& s, const Output& o, int element) {
    const auto [pixel, place] = o.by_grid(element);
    const auto [grid_row, grid_col] = o.by_cols(place);
    const auto [line, w] = s.by_width(pixel);
    row = grid_row;
    col = grid_col;
    in_row = row + s.RowShift(s.by_height(line).remainder);
    in_col = col + s.ColShift(w);
    from = static_cast<uint32_t>(pixel) * s.in_size() + static_cast<uint32_t>(in_row) * s.in_cols +
           static_cast<uint32_t>(in_col);
  }
};

// A row's share of a vector, counted from the vector's first element on. in_col lies beyond the
// input's columns where it has no such row.
struct Share {
  uint32_t from;
  int in_col;

  __device__ Share(const Shape& s, const Cursor& cursor, int first)
      : from(cursor.from - static_cast<uint32_t>(first)),
        in_col(s.HasInRow(cursor.in_row) ? cursor.in_col - first : s.in_cols) {}
};

// What follows the first `split` elements of a vector: the pixel's next row, or the next pixel's
// first.
__device__ Share NextShare(const Shape& s, const Output& o, Cursor cursor, int element, int split) {
  if (cursor.row + 1 == s.out_rows && split < kElements)
    return Share(s, Cursor(s, o, element + split), split);
  ++cursor.in_row;
  cursor.in_col -= s.out_cols;
  cursor.from += static_cast<uint32_t>(s.in_cols - s.out_cols);
  return Share(s, cursor, 0);
}

// The vector's elements from `element` on, all of them in the tensor. Rows have three elements at
// least, so that it has a share of two at most.
__device__ uint4 LoadVector(const Shape& s, const Output& o, const uint32_t* in, int element) {
  const Cursor cursor(s, o, element);
  const int split = s.out_cols - cursor.col;
  const Share head(s, cursor, 0), tail = NextShare(s, o, cursor, element, split);
  uint32_t value[kElements];
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    const auto from = static_cast<int32_t>(i < split ? head.from : tail.from);
    const int in_col = i < split ? head.in_col : tail.in_col;
    value[i] = s.HasInCol(in_col + i) ? __ldg(in + from + i) : 0;
  }
  return {value[0], value[1], value[2], value[3]};
}

// What of the vector lies in the tensor, one by one.
__device__ void CopyElements(const Shape& s, const Output& o, const CudaTensors& t, int element) {
  const int count = min(kElements, o.elements - element);
  for (int i = max(-element, 0); i < count; ++i) {
    const Cursor cursor(s, o, element + i);
    const bool live = s.HasInRow(cursor.in_row) && s.HasInCol(cursor.in_col);
    t.out[element + i] = live ? __ldg(t.in + cursor.from) : 0;
  }
}

__global__ void __launch_bounds__(kThreads, kBlocks) CopyRuns(Shape s, Output o, CudaTensors t) {
  constexpr uint32_t kStep = kThreads * kVectors;
  const bool long_rows = s.out_cols >= kElements - 1;
  for (uint32_t first = blockIdx.x * kStep; first < o.vectors; first += gridDim.x * kStep) {
    uint4 value[kVectors];
    int element[kVectors];
    bool whole[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      // Beyond the last vector, `elements`: nothing is there.
      const uint32_t vector = first + v * kThreads + threadIdx.x;
      element[v] = vector < o.vectors ? static_cast<int>(vector * kElements - o.lead) : o.elements;
      whole[v] = element[v] >= 0 && element[v] <= o.elements - kElements && long_rows;
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
