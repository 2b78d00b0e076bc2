// SPDX-License-Identifier: Apache-2.0
// Products of 16x16 matrices by a warp. A lane holds half a row, for matrix_b half a column.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major };

template <class Use, int kM, int kN, int kK, class T, class Layout = void>
struct fragment {
  static_assert(kM == 16 && kN == 16 && kK == 16);
  T x[8];
};

template <class Fragment, class T>
void fill_fragment(Fragment& to, T value) {
  for (auto& x : to.x) x = value;
}

// Moves the elements of a lane: element i of line `lane / 2` is `line * pitch + i` in memory.
template <class T>
T* LaneElements(T* matrix, unsigned pitch, Place place) {
  __syncwarp(~0u, place);
  if (reinterpret_cast<uintptr_t>(matrix) % 32 != 0 || pitch * sizeof(T) % 16 != 0)
    emulation::Fail("matrix of a wrong alignment", place);
  const unsigned lane = threadIdx.x % 32;
  return matrix + lane / 2 * pitch + lane % 2 * 8;
}

// a by rows and b by columns: both have their lines along k.
template <class Use, class Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, half, Layout>& to, const half* matrix,
                      unsigned pitch, Place place = Place::Here()) {
  static_assert(std::is_same_v<Use, matrix_a> == std::is_same_v<Layout, row_major>);
  const half* const from = LaneElements(matrix, pitch, place);
  for (int i = 0; i < 8; ++i) to.x[i] = from[i];
}

using Sums = fragment<accumulator, 16, 16, 16, float>;

inline void store_matrix_sync(float* matrix, const Sums& from, unsigned pitch, layout_t,
                              Place place = Place::Here()) {
  float* const to = LaneElements(matrix, pitch, place);
  for (int i = 0; i < 8; ++i) to[i] = from.x[i];
}

inline void mma_sync(Sums& to, const fragment<matrix_a, 16, 16, 16, half, row_major>& a,
                     const fragment<matrix_b, 16, 16, 16, half, col_major>& b, const Sums& c,
                     Place place = Place::Here()) {
  float row[16], columns[16][16];
  const unsigned lane = threadIdx.x % 32, first = lane % 2 * 8;
  const emulation::Met with_a =
      emulation::Meet("mma_sync", ~0u, reinterpret_cast<uintptr_t>(a.x), place);
  for (unsigned k = 0; k < 16; ++k)
    row[k] = reinterpret_cast<const half*>(with_a.values[lane / 2 * 2 + k / 8])[k % 8];
  const emulation::Met with_b =
      emulation::Meet("mma_sync", ~0u, reinterpret_cast<uintptr_t>(b.x), place);
  for (unsigned j = 0; j < 8; ++j) {
    for (unsigned k = 0; k < 16; ++k)
      columns[j][k] = reinterpret_cast<const half*>(with_b.values[(first + j) * 2 + k / 8])[k % 8];
  }
  for (int j = 0; j < 8; ++j) {
    float sum = c.x[j];
    for (int k = 0; k < 16; ++k) sum += row[k] * columns[j][k];
    to.x[j] = sum;
  }
  __syncwarp(~0u, place);  // the lanes keep their fragments until all have read them
}

}  // namespace nvcuda::wmma
