// SPDX-License-Identifier: Apache-2.0
// The tiles of cuda/transpose.cu: load a tile of a matrix, transpose it in shared memory, store it.
#pragma once

#include <cstdint>

#include "cuda/words.h"

namespace mluop::transpose_tiles {

constexpr int kThreads = 256;

// A batch of fewer than 2^31 elements: indices and the tiles' numbers are exact in 32 bits.
struct SmallMatrices {
  uint32_t n, a, b;
};

// kWidth elements that are loaded and stored as a unit.
template <typename T, int kWidth>
struct alignas(kWidth * sizeof(T)) Vector {
  uint32_t words[kWidth * sizeof(T) / sizeof(uint32_t)];
};

// The first element of a tile, and its matrix.
struct Corner {
  int a, b;
  uint32_t matrix;
};

// Element r of transposed[c] = element c of rows[r].
template <typename T, int kWidth>
__device__ void TransposeSquare(const Vector<T, kWidth> (&rows)[kWidth],
                                Vector<T, kWidth> (&transposed)[kWidth]) {
  if constexpr (sizeof(T) == sizeof(uint32_t)) {
#pragma unroll
    for (int c = 0; c < kWidth; ++c) {
#pragma unroll
      for (int r = 0; r < kWidth; ++r) transposed[c].words[r] = rows[r].words[c];
    }
  } else {
#pragma unroll
    for (int c = 0; c < kWidth; ++c) {
#pragma unroll
      for (int r = 0; r < kWidth; r += 2) {  // the lower or the upper halves of two words
        transposed[c].words[r / 2] = __byte_perm(rows[r].words[c / 2], rows[r + 1].words[c / 2],
                                                 c % 2 == 0 ? 0x5410 : 0x7632);
      }
    }
  }
}

// The tile of "vectors": a and b are multiples of kWidth.
template <typename Element, int kWidth>
struct VectorTile {
  using T = Element;
  using V = Vector<T, kWidth>;
  static constexpr int kVectors = kWidth >= 4 ? 16 : 32;  // of a row: 128 or 256 bytes
  static constexpr int kDown = kVectors * kWidth, kAcross = kDown, kBefore = 0;
  static constexpr int kShared = kDown * kVectors;
  static constexpr int kSquares = kVectors * kVectors / kThreads;  // of a thread
  // Resident blocks per SM: leaves registers for all loads of a thread to be in flight at once.
  static constexpr int kBlocksPerSm = kWidth == 8 ? 3 : 4;

  // The index of a vector in shared memory. The XOR puts the rows of neighbouring squares into
  // different banks.
  static __device__ int Index(int row, int vector) {
    return row * kVectors + (vector ^ (row / kWidth % kVectors));
  }

  // Loads the tile and transposes it into shared memory: its rows are rows of the output.
  static __device__ void Load(const SmallMatrices& m, const T* input, const Corner& corner,
                              V* tile) {
    V rows[kSquares][kWidth];
#pragma unroll
    for (int k = 0; k < kSquares; ++k) {
      const int square = threadIdx.x + k * kThreads;
      const uint32_t b = corner.b + square % kVectors * kWidth;
      const uint32_t a = corner.a + square / kVectors * kWidth;
      if (a < m.a && b < m.b) {
#pragma unroll
        for (int r = 0; r < kWidth; ++r) {
          rows[k][r] = *reinterpret_cast<const V*>(input + ((a + r) * m.b + b));
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kSquares; ++k) {
      const int square = threadIdx.x + k * kThreads;
      const int first = square % kVectors * kWidth, vector = square / kVectors;
      V transposed[kWidth];
      TransposeSquare<T, kWidth>(rows[k], transposed);
#pragma unroll
      for (int c = 0; c < kWidth; ++c) tile[Index(first + c, vector)] = transposed[c];
    }
  }

  static __device__ void Store(const SmallMatrices& m, const V* tile, const Corner& corner,
                               uint32_t, T* output) {
#pragma unroll
    for (int k = 0; k < kSquares * kWidth; ++k) {
      const int i = threadIdx.x + k * kThreads;
      const int row = i / kVectors, vector = i % kVectors;
      const uint32_t b = corner.b + row, a = corner.a + vector * kWidth;
      if (a < m.a && b < m.b) {
        *reinterpret_cast<V*>(output + (b * m.a + a)) = tile[Index(row, vector)];
      }
    }
  }
};

// The tile of "elements": its longer side runs along the output.
template <typename Element>
struct ElementTile {
  using T = Element;
  using V = T;
  static constexpr int kWarp = 32, kWarps = kThreads / kWarp;
  static constexpr int kLoaded = 128, kAcross = 64;
  // Rows of the output start anywhere in a sector. A tile stores the sectors that start in it, so
  // it loads one additional sector.
  static constexpr int kSector = 32 / sizeof(T);
  static constexpr int kDown = kLoaded - kSector, kBefore = kSector;
  static constexpr int kPitch = kLoaded + 4 / sizeof(T);  // puts a column into different banks
  static constexpr int kShared = kAcross * kPitch;
  static constexpr int kBlocksPerSm = 4;

  // A warp loads rows of the input, four at a time.
  static __device__ void Load(const SmallMatrices& m, const T* input, const Corner& corner,
                              T* tile) {
    constexpr int kRowsPerBatch = 4, kRuns = kAcross / kWarp;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    for (int first = warp; first < kLoaded; first += kWarps * kRowsPerBatch) {
      T value[kRowsPerBatch][kRuns];
#pragma unroll
      for (int k = 0; k < kRowsPerBatch; ++k) {
        const uint32_t a = corner.a + first + k * kWarps, b = corner.b + lane;
#pragma unroll
        for (int run = 0; run < kRuns; ++run) {
          const bool inside = a < m.a && b + run * kWarp < m.b;  // a wraps below 0
          value[k][run] = inside ? input[a * m.b + b + run * kWarp] : T{0};
        }
      }
#pragma unroll
      for (int k = 0; k < kRowsPerBatch; ++k) {
#pragma unroll
        for (int run = 0; run < kRuns; ++run) {
          tile[(lane + run * kWarp) * kPitch + first + k * kWarps] = value[k][run];
        }
      }
    }
  }

  // A warp stores one row of the output after the other. `lead` is the address of the output matrix
  // in elements, mod 2^32.
  static __device__ void Store(const SmallMatrices& m, const T* tile, const Corner& corner,
                               uint32_t lead, T* output) {
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int rows = min(kAcross, static_cast<int>(m.b) - corner.b);
    for (int row = warp; row < rows; row += kWarps) {
      const uint32_t at = (corner.b + row) * m.a;
      const int skip = kSector - static_cast<int>((lead + at) % kSector);
      const int first = corner.a + skip, begin = max(-first, 0);
      const uint32_t count = max(min(kDown, static_cast<int>(m.a) - first) - begin, 0);
      StoreRuns<kLoaded / kWarp>(lane, begin, count, output + (static_cast<int64_t>(at) + first),
                                 [=](int i) { return tile[row * kPitch + skip + i]; });
    }
  }
};

// The number of tiles along a. The first tile starts kBefore rows before the matrix; rows outside
// the matrix are not stored.
template <class Tile>
__host__ __device__ uint32_t TilesDown(uint32_t a) {
  return (a + (Tile::kBefore > 0 ? Tile::kBefore - 1 : 0) + Tile::kDown - 1) / Tile::kDown;
}
template <class Tile>
__host__ __device__ uint32_t TilesAcross(uint32_t b) {
  return (b + Tile::kAcross - 1) / Tile::kAcross;
}

}  // namespace mluop::transpose_tiles
