// SPDX-License-Identifier: Apache-2.0
// transpose on CUDA devices: tiles of the matrix pass through shared memory, so that loads and stores
// are coalesced. "vectors": sizes and pointers are multiples of a vector; a thread transposes squares
// of vectors in registers, and memory is accessed by vectors alone, of up to 16 bytes. "elements":
// element by element, with stores that start at a sector of device memory.
#include "cuda/context.h"
#include "ops/transpose/problem.h"

namespace mluop::transpose {
namespace {

constexpr int kThreads = 256;

// A tensor has fewer than 2^31 elements: indices and the tiles' numbers are exact in 32 bits.
struct Matrices {
  uint32_t n, a, b;
};

// kWidth elements that are loaded and stored as a unit.
template <typename T, int kWidth>
struct alignas(kWidth * sizeof(T)) Vector {
  uint32_t words[kWidth * sizeof(T) / sizeof(uint32_t)];
};

template <typename T, int kVectorWidth>
struct VectorTile {
  static constexpr int kWidth = kVectorWidth;
  using V = Vector<T, kWidth>;
  static constexpr int kVectors = kWidth >= 4 ? 16 : 32;  // of a row: 128 or 256 bytes
  static constexpr int kSide = kVectors * kWidth;
  static constexpr int kSquares = kVectors * kVectors / kThreads;  // of a thread
  // Resident blocks per SM: leaves registers for all loads of a thread to be in flight at once.
  static constexpr int kBlocksPerSm = kWidth == 8 ? 3 : 4;
  // The index of a vector in shared memory. The XOR puts the rows of neighbouring squares into
  // different banks.
  static __device__ int Index(int row, int vector) {
    return row * kVectors + (vector ^ (row / kWidth % kVectors));
  }
};

// Element r of turned[c] = element c of rows[r].
template <typename T, int kWidth>
__device__ void TransposeSquare(const Vector<T, kWidth> (&rows)[kWidth],
                                Vector<T, kWidth> (&turned)[kWidth]) {
  if constexpr (sizeof(T) == sizeof(uint32_t)) {
#pragma unroll
    for (int c = 0; c < kWidth; ++c) {
#pragma unroll
      for (int r = 0; r < kWidth; ++r) turned[c].words[r] = rows[r].words[c];
    }
  } else {
#pragma unroll
    for (int c = 0; c < kWidth; ++c) {
#pragma unroll
      for (int r = 0; r < kWidth; r += 2) {  // the lower or the upper halves of two words
        turned[c].words[r / 2] = __byte_perm(rows[r].words[c / 2], rows[r + 1].words[c / 2],
                                             c % 2 == 0 ? 0x5410 : 0x7632);
      }
    }
  }
}

// The first element of tile `index`, and its matrix.
struct Corner {
  int a, b;
  uint32_t matrix;

  __device__ Corner(uint32_t index, uint32_t down, uint32_t across, int tile_a, int tile_b)
      : a(static_cast<int>(index / across % down) * tile_a),
        b(static_cast<int>(index % across) * tile_b),
        matrix(index / across / down) {}
};

// Loads the tile at `corner` and transposes it into shared memory: its rows are rows of the output.
template <typename T, class Tile>
__device__ void LoadTile(const Matrices& m, const T* input, const Corner& corner,
                         typename Tile::V* tile) {
  using V = typename Tile::V;
  V rows[Tile::kSquares][Tile::kWidth];
#pragma unroll
  for (int k = 0; k < Tile::kSquares; ++k) {
    const int square = threadIdx.x + k * kThreads;
    const uint32_t b = corner.b + square % Tile::kVectors * Tile::kWidth;
    const uint32_t a = corner.a + square / Tile::kVectors * Tile::kWidth;
    if (a < m.a && b < m.b) {
#pragma unroll
      for (int r = 0; r < Tile::kWidth; ++r) {
        rows[k][r] = *reinterpret_cast<const V*>(input + ((a + r) * m.b + b));
      }
    }
  }
#pragma unroll
  for (int k = 0; k < Tile::kSquares; ++k) {
    const int square = threadIdx.x + k * kThreads;
    const int first = square % Tile::kVectors * Tile::kWidth, vector = square / Tile::kVectors;
    V turned[Tile::kWidth];
    TransposeSquare<T, Tile::kWidth>(rows[k], turned);
#pragma unroll
    for (int c = 0; c < Tile::kWidth; ++c) tile[Tile::Index(first + c, vector)] = turned[c];
  }
}

template <typename T, class Tile>
__device__ void StoreTile(const Matrices& m, const typename Tile::V* tile, const Corner& corner,
                          T* output) {
  using V = typename Tile::V;
#pragma unroll
  for (int k = 0; k < Tile::kSquares * Tile::kWidth; ++k) {
    const int i = threadIdx.x + k * kThreads;
    const int row = i / Tile::kVectors, vector = i % Tile::kVectors;
    const uint32_t b = corner.b + row, a = corner.a + vector * Tile::kWidth;
    if (a < m.a && b < m.b) {
      *reinterpret_cast<V*>(output + (b * m.a + a)) = tile[Tile::Index(row, vector)];
    }
  }
}

// input: [n, a, b], output: [n, b, a], a and b multiples of kWidth
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads, VectorTile<T, kWidth>::kBlocksPerSm)
    TransposeVectors(Matrices m, const T* __restrict__ input, T* __restrict__ output) {
  using Tile = VectorTile<T, kWidth>;
  __shared__ typename Tile::V tile[Tile::kSide * Tile::kVectors];
  const uint32_t across = (m.b + Tile::kSide - 1) / Tile::kSide;
  const uint32_t down = (m.a + Tile::kSide - 1) / Tile::kSide;
  for (uint32_t i = blockIdx.x; i < m.n * down * across; i += gridDim.x) {
    const Corner corner(i, down, across, Tile::kSide, Tile::kSide);
    const int64_t matrix = int64_t{corner.matrix} * m.a * m.b;
    LoadTile<T, Tile>(m, input + matrix, corner, tile);
    __syncthreads();
    StoreTile<T, Tile>(m, tile, corner, output + matrix);
    __syncthreads();
  }
}

constexpr int kWarp = 32, kWarps = kThreads / kWarp;
// The tile of "elements": its longer side runs along the output.
constexpr int kTileA = 128, kTileB = 64;

template <typename T>
struct ElementTile {
  static constexpr int kSector = 32 / sizeof(T);
  // Rows of the output start anywhere in a sector, and a tile owns the sectors that start in it. So
  // it loads one sector more.
  static constexpr int kOwned = kTileA - kSector;
  static constexpr int kPitch = kTileA + 4 / sizeof(T);  // puts a column into different banks
  static constexpr int kBlocksPerSm = 4;
};

// A warp loads rows of the input, four at a time.
template <typename T>
__device__ void LoadElements(const Matrices& m, const T* input, const Corner& corner, T* tile) {
  constexpr int kTogether = 4, kRuns = kTileB / kWarp;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int first = warp; first < kTileA; first += kWarps * kTogether) {
    T value[kTogether][kRuns];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const uint32_t a = corner.a + first + k * kWarps, b = corner.b + lane;
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const bool inside = a < m.a && b + run * kWarp < m.b;  // a wraps below 0
        value[k][run] = inside ? input[a * m.b + b + run * kWarp] : T{0};
      }
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        tile[(lane + run * kWarp) * ElementTile<T>::kPitch + first + k * kWarps] = value[k][run];
      }
    }
  }
}

// A warp stores one row of the output after the other; `lead` is the place of the matrix in a sector.
template <typename T>
__device__ void StoreElements(const Matrices& m, const T* tile, const Corner& corner, uint32_t lead,
                              T* output) {
  using Tile = ElementTile<T>;
  constexpr int kRuns = kTileA / kWarp;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int rows = min(kTileB, static_cast<int>(m.b) - corner.b);
  for (int row = warp; row < rows; row += kWarps) {
    const uint32_t at = (corner.b + row) * m.a;
    const int skip = Tile::kSector - static_cast<int>((lead + at) % Tile::kSector);
    const int first = corner.a + skip, begin = max(-first, 0);
    const uint32_t count = max(min(Tile::kOwned, static_cast<int>(m.a) - first) - begin, 0);
    T value[kRuns];
    bool mine[kRuns];
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int i = lane + run * kWarp;
      mine[run] = static_cast<uint32_t>(i - begin) < count;
      value[run] = mine[run] ? tile[row * Tile::kPitch + skip + i] : T{0};
    }
    T* to = output + (static_cast<int64_t>(at) + first + lane);
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      if (mine[run]) to[run * kWarp] = value[run];
    }
  }
}

// `lead` is the output's place in its sector.
template <typename T>
__global__ void __launch_bounds__(kThreads, ElementTile<T>::kBlocksPerSm)
    TransposeElements(Matrices m, uint32_t lead, const T* __restrict__ input,
                      T* __restrict__ output) {
  using Tile = ElementTile<T>;
  __shared__ T tile[kTileB * Tile::kPitch];
  const uint32_t across = (m.b + kTileB - 1) / kTileB;
  const uint32_t down = (m.a + Tile::kSector - 1 + Tile::kOwned - 1) / Tile::kOwned;
  for (uint32_t i = blockIdx.x; i < m.n * down * across; i += gridDim.x) {
    Corner corner(i, down, across, Tile::kOwned, kTileB);
    corner.a -= Tile::kSector;
    const uint32_t matrix = corner.matrix * m.a * m.b;
    LoadElements<T>(m, input + matrix, corner, tile);
    __syncthreads();
    StoreElements<T>(m, tile, corner, lead + matrix, output + matrix);
    __syncthreads();
  }
}

using TransposeCall = CudaCall<Problem>;

Matrices MatricesOf(const Problem& p) {
  return {static_cast<uint32_t>(p.n), static_cast<uint32_t>(p.a), static_cast<uint32_t>(p.b)};
}

// Whether vectors of so many elements divide the rows, the columns and both pointers.
bool Divides(int width, const TransposeCall& call) {
  const auto addresses = reinterpret_cast<uintptr_t>(call.arguments.tensors[0].data) |
                         reinterpret_cast<uintptr_t>(call.arguments.tensors[1].data);
  return (call.p.a | call.p.b) % width == 0 && addresses % (width * (call.p.half ? 2 : 4)) == 0;
}

bool CanUseVectors(const TransposeCall& call) { return Divides(2, call); }

template <typename T, int kWidth>
void LaunchVectors(const TransposeCall& call) {
  using Tile = VectorTile<T, kWidth>;
  const Problem& p = call.p;
  const Grid grid = {p.n * CeilDiv(p.a, Tile::kSide) * CeilDiv(p.b, Tile::kSide), kThreads};
  call.context.Launch(TransposeVectors<T, kWidth>, grid, MatricesOf(p),
                      call.arguments.In<T>("input"), call.arguments.Out<T>("output"));
}

mluOpStatus_t RunVectors(const TransposeCall& call, void*) {
  if (call.p.half) {
    Divides(8, call) ? LaunchVectors<uint16_t, 8>(call) : LaunchVectors<uint16_t, 2>(call);
  } else {
    Divides(4, call) ? LaunchVectors<uint32_t, 4>(call) : LaunchVectors<uint32_t, 2>(call);
  }
  return call.context.status();
}

template <typename T>
void LaunchElements(const TransposeCall& call) {
  using Tile = ElementTile<T>;
  const Problem& p = call.p;
  T* const output = call.arguments.Out<T>("output");
  const auto lead = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(output) / sizeof(T));
  const Grid grid = {p.n * CeilDiv(p.a + Tile::kSector - 1, Tile::kOwned) * CeilDiv(p.b, kTileB),
                     kThreads};
  call.context.Launch(TransposeElements<T>, grid, MatricesOf(p), lead,
                      call.arguments.In<T>("input"), output);
}

mluOpStatus_t RunElements(const TransposeCall& call, void*) {
  call.p.half ? LaunchElements<uint16_t>(call) : LaunchElements<uint32_t>(call);
  return call.context.status();
}

constexpr CudaImplementation<Problem> kTranspose[] = {
    {"vectors", "A, B and both addresses are even multiples of an element", CanUseVectors, nullptr,
     RunVectors},
    {"elements", "always", Always, nullptr, RunElements}};
constexpr CudaOperator kTransposeCuda = Bind<MakeProblem, kTranspose>("transpose");
constexpr const CudaOperator* kOperators[] = {&kTransposeCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::transpose
