// SPDX-License-Identifier: Apache-2.0
// Tiles of a matrix pass through shared memory, so that loads and stores are coalesced. VectorTile:
// a thread transposes squares in registers, and all accesses are vectors of up to 16 bytes.
// ElementTile: accesses single elements; each warp's stores start at a sector of device memory.
#include "cuda/transpose.h"

#include <algorithm>

#include "cuda/for_each.h"
#include "cuda/transpose_tiles.h"

namespace mluop {
namespace {

using namespace transpose_tiles;

// input: [n, a, b], output: [n, b, a]; `lead` is the output's address in elements, mod 2^32.
template <class Tile, typename T = typename Tile::T>
__global__ void __launch_bounds__(kThreads, Tile::kBlocksPerSm)
    TransposeTiles(SmallMatrices m, uint32_t lead, const T* __restrict__ input,
                   T* __restrict__ output) {
  __shared__ typename Tile::V tile[Tile::kShared];
  const uint32_t down = TilesDown<Tile>(m.a), across = TilesAcross<Tile>(m.b);
  for (uint32_t i = blockIdx.x; i < m.n * down * across; i += gridDim.x) {
    const Corner corner = {static_cast<int>(i / across % down) * Tile::kDown - Tile::kBefore,
                           static_cast<int>(i % across) * Tile::kAcross, i / across / down};
    const uint32_t matrix = corner.matrix * m.a * m.b;
    Tile::Load(m, input + matrix, corner, tile);
    __syncthreads();
    Tile::Store(m, tile, corner, lead + matrix, output + matrix);
    __syncthreads();
  }
}

template <typename T>
void CopyElements(CudaContext& context, const CudaTranspose& job) {
  const int64_t rows = job.matrices.rows, columns = job.matrices.columns;
  const auto* input = static_cast<const T*>(job.from);
  auto* output = static_cast<T*>(job.to);
  ForEach(context, job.matrices.elements(), [=] __device__(int64_t i) {
    const int64_t a = i % rows, b = i / rows % columns, matrix = i / rows / columns;
    output[i] = input[(matrix * rows + a) * columns + b];
  });
}

template <class Tile>
void LaunchTiles(CudaContext& context, const CudaTranspose& job) {
  using T = typename Tile::T;
  const SmallMatrices m = {static_cast<uint32_t>(job.matrices.count),
                           static_cast<uint32_t>(job.matrices.rows),
                           static_cast<uint32_t>(job.matrices.columns)};
  const auto lead = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(job.to) / sizeof(T));
  const Grid grid = {int64_t{m.n} * TilesDown<Tile>(m.a) * TilesAcross<Tile>(m.b), kThreads};
  context.Launch(TransposeTiles<Tile>, grid, m, lead, static_cast<const T*>(job.from),
                 static_cast<T*>(job.to));
}

// Calls launch(job) for batches of matrices. A batch has fewer than 2^31 elements.
template <class Launch>
void ForEachBatch(const CudaTranspose& all, const Launch& launch) {
  const int64_t elements = all.matrices.rows * all.matrices.columns;
  const int64_t most = (kSmallLimit - 1) / elements;
  CudaTranspose job = all;
  for (int64_t first = 0; first < all.matrices.count; first += most) {
    job.matrices.count = std::min(most, all.matrices.count - first);
    launch(job);
    job.from = static_cast<const char*>(job.from) + job.matrices.bytes();
    job.to = static_cast<char*>(job.to) + job.matrices.bytes();
  }
}

bool IsHalf(const CudaTranspose& job) { return job.matrices.element_bytes == sizeof(uint16_t); }

// Returns true if `width` divides both sizes and both addresses (in elements).
bool IsDivisibleBy(int width, const CudaTranspose& job) {
  const auto addresses =
      reinterpret_cast<uintptr_t>(job.from) | reinterpret_cast<uintptr_t>(job.to);
  return (job.matrices.rows | job.matrices.columns) % width == 0 &&
         addresses % (width * job.matrices.element_bytes) == 0;
}

}  // namespace

bool CanTransposeTiles(const CudaTranspose& job) {
  return job.matrices.element_bytes < sizeof(double) &&
         job.matrices.rows * job.matrices.columns < kSmallLimit;
}
bool CanTransposeVectors(const CudaTranspose& job) {
  return CanTransposeTiles(job) && IsDivisibleBy(2, job);
}

void TransposeVectors(CudaContext& context, const CudaTranspose& all) {
  ForEachBatch(all, [&](const CudaTranspose& job) {
    if (IsHalf(job)) {
      IsDivisibleBy(8, job) ? LaunchTiles<VectorTile<uint16_t, 8>>(context, job)
                            : LaunchTiles<VectorTile<uint16_t, 2>>(context, job);
    } else {
      IsDivisibleBy(4, job) ? LaunchTiles<VectorTile<uint32_t, 4>>(context, job)
                            : LaunchTiles<VectorTile<uint32_t, 2>>(context, job);
    }
  });
}

void TransposeElements(CudaContext& context, const CudaTranspose& all) {
  ForEachBatch(all, [&](const CudaTranspose& job) {
    IsHalf(job) ? LaunchTiles<ElementTile<uint16_t>>(context, job)
                : LaunchTiles<ElementTile<uint32_t>>(context, job);
  });
}

void TransposeAny(CudaContext& context, const CudaTranspose& job) {
  if (IsHalf(job)) return CopyElements<uint16_t>(context, job);
  job.matrices.element_bytes == sizeof(double) ? CopyElements<uint64_t>(context, job)
                                               : CopyElements<uint32_t>(context, job);
}

mluOpStatus_t Transpose(CudaContext& context, const Matrices& matrices, const void* from,
                        void* to) {
  const CudaTranspose job = {matrices, from, to};
  if (CanTransposeVectors(job)) {
    TransposeVectors(context, job);
  } else if (CanTransposeTiles(job)) {
    TransposeElements(context, job);
  } else {
    TransposeAny(context, job);
  }
  return context.status();
}

}  // namespace mluop
