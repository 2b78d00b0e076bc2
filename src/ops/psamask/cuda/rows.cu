// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices, implementation "rows": input and output are pixel-major. The output is a
// sequence of aligned 16-byte vectors; a thread computes where the elements of its vectors come
// from. Memory-bound: a warp executes about 200 instructions for 512 bytes of output.
#include "ops/psamask/cuda/kernels.h"

namespace mluop::psamask {
namespace {

constexpr int kElements = 4;  // of a vector
// Vectors of a thread: all loads are in flight before the first store.
constexpr int kVectors = 2;

struct Output {
  int elements;   // of all images
  uint32_t lead;  // elements of the first vector that precede the tensor
  uint32_t vectors;
  Divider by_grid, by_cols;  // the cells of a pixel's grid, and of one row of it
};

// The source of an element of the output. Within the same row of the grid, the i-th element after it
// comes from the i-th after `from` if the input has column in_col + i.
struct Cursor {
  int row, col;  // of the output's grid
  int in_row, in_col;
  uint32_t from;  // index into the input; wraps if in_row or in_col are outside

  __device__ Cursor(const Shape& s, const Output& o, int element) {
    const auto [pixel, cell] = o.by_grid(element);
    const auto [grid_row, grid_col] = o.by_cols(cell);
    const auto [line, w] = s.by_width(pixel);
    row = grid_row;
    col = grid_col;
    in_row = row + s.RowShift(s.by_height(line).remainder);
    in_col = col + s.ColShift(w);
    from = static_cast<uint32_t>(pixel) * s.in_size() + static_cast<uint32_t>(in_row) * s.in_cols +
           static_cast<uint32_t>(in_col);
  }
};

// The source of the elements of a vector that belong to one row, relative to the vector's first
// element. in_col is out of range if the input has no such row.
struct RowSource {
  uint32_t from;
  int in_col;

  __device__ RowSource(const Shape& s, const Cursor& cursor, int first)
      : from(cursor.from - static_cast<uint32_t>(first)),
        in_col(s.HasInRow(cursor.in_row) ? cursor.in_col - first : s.in_cols) {}
};

// The source of the elements after the first `split`: the pixel's next row, or the next pixel's
// first row.
__device__ RowSource NextRow(const Shape& s, const Output& o, Cursor cursor, int element,
                             int split) {
  if (cursor.row + 1 == s.out_rows && split < kElements)
    return RowSource(s, Cursor(s, o, element + split), split);
  ++cursor.in_row;
  cursor.in_col -= s.out_cols;
  cursor.from += static_cast<uint32_t>(s.in_cols - s.out_cols);
  return RowSource(s, cursor, 0);
}

// Loads the vector that starts at `element` and lies in the tensor. Rows have at least three
// elements, so it covers at most two of them.
__device__ uint4 LoadVector(const Shape& s, const Output& o, const uint32_t* in, int element) {
  const Cursor cursor(s, o, element);
  const int split = s.out_cols - cursor.col;
  const RowSource head(s, cursor, 0), tail = NextRow(s, o, cursor, element, split);
  uint32_t value[kElements];
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    const auto from = static_cast<int32_t>(i < split ? head.from : tail.from);
    const int in_col = i < split ? head.in_col : tail.in_col;
    value[i] = s.HasInCol(in_col + i) ? __ldg(in + from + i) : 0;
  }
  return {value[0], value[1], value[2], value[3]};
}

// Copies the elements of the vector that lie in the tensor one by one.
__device__ void CopyElements(const Shape& s, const Output& o, const CudaTensors& t, int element) {
  const int count = min(kElements, o.elements - element);
  for (int i = max(-element, 0); i < count; ++i) {
    const Cursor cursor(s, o, element + i);
    const bool live = s.HasInRow(cursor.in_row) && s.HasInCol(cursor.in_col);
    t.out[element + i] = live ? __ldg(t.in + cursor.from) : 0;
  }
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    CopyVectors(Shape s, Output o, CudaTensors t) {
  constexpr uint32_t kStep = kThreads * kVectors;
  const bool long_rows = s.out_cols >= kElements - 1;
  for (uint32_t first = blockIdx.x * kStep; first < o.vectors; first += gridDim.x * kStep) {
    uint4 value[kVectors];
    int element[kVectors];
    bool whole[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      // Past the last vector `element` is o.elements: nothing is copied.
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

mluOpStatus_t CopyRows(const PsamaskCall& call, void*) {
  const Problem& p = call.p;
  const CudaTensors tensors = TensorsOf(call);
  const uint32_t lead = tensors.lead % kElements;
  const int64_t vectors = CeilDiv(p.out_count() + lead, kElements);
  const Output output = {static_cast<int>(p.out_count()), lead, static_cast<uint32_t>(vectors),
                         Divider(p.out.size()), Divider(p.out.cols)};
  const Grid grid = {CeilDiv(vectors, kThreads * kVectors), kThreads};
  call.context.Launch(CopyVectors, grid, ShapeOf(p), output, tensors);
  return call.context.status();
}

}  // namespace mluop::psamask
