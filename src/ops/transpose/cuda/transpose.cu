// SPDX-License-Identifier: Apache-2.0
// transpose on CUDA devices: tiles of the matrix through shared memory, so that both sides of the
// copy run along memory. Where sizes and pointers are multiples of a vector, a thread turns a
// square of as many elements a side in its registers, and memory sees vectors alone, 16 bytes at
// best; elsewhere it is element by element, in stores that begin with a sector of device memory.
#include "cuda/context.h"

namespace mluop::transpose {
namespace {

constexpr int kThreads = 256;

// A tensor has fewer than 2^31 elements: indices, and the tiles' numbers, are exact in 32 bits.
struct Matrices {
  uint32_t n, a, b;
};

// kWidth elements that move together.
template <typename T, int kWidth>
struct alignas(kWidth * sizeof(T)) Vector {
  uint32_t words[kWidth * sizeof(T) / sizeof(uint32_t)];
};

template <typename T, int kVectorWidth>
struct TileOf {
  static constexpr int kWidth = kVectorWidth;
  using V = Vector<T, kWidth>;
  static constexpr int kVectors = kWidth >= 4 ? 16 : 32;  // of a row: 128 bytes or 256
  static constexpr int kSide = kVectors * kWidth;
  static constexpr int kSquares = kVectors * kVectors / kThreads;  // of a thread
  // On a processor: registers for all loads of a thread at once.
  static constexpr int kBlocks = kWidth == 8 ? 3 : 4;
  // Where vector `vector` of row `row` lies: rows whose squares are neighbours put it in different
  // banks.
  static __device__ int Place(int row, int vector) {
    return row * kVectors + (vector ^ (row / kWidth % kVectors));
  }
};

// turned[c] element r = rows[r] element c
template <typename T, int kWidth>
__device__ void Turn(const Vector<T, kWidth> (&rows)[kWidth], Vector<T, kWidth> (&turned)[kWidth]) {
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

// Where tile `index` begins, and its matrix.
struct Corner {
  int a, b;
  uint32_t matrix;

  __device__ Corner(uint32_t index, uint32_t down, uint32_t across, int tile_a, int tile_b)
      : a(static_cast<int>(index / across % down) * tile_a),
        b(static_cast<int>(index % across) * tile_b),
        matrix(index / across / down) {}
};

// The tile at `corner`, turned, into shared memory: rows of it are rows of the output.
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
    Turn<T, Tile::kWidth>(rows[k], turned);
#pragma unroll
    for (int c = 0; c < Tile::kWidth; ++c) tile[Tile::Place(first + c, vector)] = turned[c];
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
      *reinterpret_cast<V*>(output + (b * m.a + a)) = tile[Tile::Place(row, vector)];
    }
  }
}

// input: [n, a, b], output: [n, b, a], a and b multiples of kWidth
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads, TileOf<T, kWidth>::kBlocks)
    TransposeVectors(Matrices m, const T* __restrict__ input, T* __restrict__ output) {
  using Tile = TileOf<T, kWidth>;
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
// Of the tile for single elements: long along the output.
constexpr int kTileA = 128, kTileB = 64;

template <typename T>
struct Elements {
  static constexpr int kSector = 32 / sizeof(T);
  // Rows of the output begin anywhere in a sector, and a tile owns the sectors that begin in it: it
  // holds as many elements more.
  static constexpr int kOwned = kTileA - kSector;
  static constexpr int kPitch = kTileA + 4 / sizeof(T);  // a column lies in different banks
  static constexpr int kBlocks = 4;                      // on a processor, as above
};

// A warp takes row after row of the input, four at once.
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
        const bool inside = a < m.a && b + run * kWarp < m.b;  // -1 is beyond, too
        value[k][run] = inside ? input[a * m.b + b + run * kWarp] : T{0};
      }
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        tile[(lane + run * kWarp) * Elements<T>::kPitch + first + k * kWarps] = value[k][run];
      }
    }
  }
}

// A warp takes row after row of the output; `lead` is the first one's begin in its sector.
template <typename T>
__device__ void StoreElements(const Matrices& m, const T* tile, const Corner& corner, uint32_t lead,
                              T* output) {
  using E = Elements<T>;
  constexpr int kRuns = kTileA / kWarp;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int rows = min(kTileB, static_cast<int>(m.b) - corner.b);
  for (int row = warp; row < rows; row += kWarps) {
    const uint32_t at = (corner.b + row) * m.a;
    const int skip = E::kSector - static_cast<int>((lead + at) % E::kSector);
    const int first = corner.a + skip, begin = max(-first, 0);
    const uint32_t count = max(min(E::kOwned, static_cast<int>(m.a) - first) - begin, 0);
    T value[kRuns];
    bool mine[kRuns];
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int i = lane + run * kWarp;
      mine[run] = static_cast<uint32_t>(i - begin) < count;
      value[run] = mine[run] ? tile[row * E::kPitch + skip + i] : T{0};
    }
    T* to = output + (static_cast<int64_t>(at) + first + lane);
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      if (mine[run]) to[run * kWarp] = value[run];
    }
  }
}

// `lead` is the output's begin in its sector.
template <typename T>
__global__ void __launch_bounds__(kThreads, Elements<T>::kBlocks)
    TransposeElements(Matrices m, uint32_t lead, const T* __restrict__ input,
                      T* __restrict__ output) {
  using E = Elements<T>;
  __shared__ T tile[kTileB * E::kPitch];
  const uint32_t across = (m.b + kTileB - 1) / kTileB;
  const uint32_t down = (m.a + E::kSector - 1 + E::kOwned - 1) / E::kOwned;
  for (uint32_t i = blockIdx.x; i < m.n * down * across; i += gridDim.x) {
    Corner corner(i, down, across, E::kOwned, kTileB);
    corner.a -= E::kSector;
    const uint32_t matrix = corner.matrix * m.a * m.b;
    LoadElements<T>(m, input + matrix, corner, tile);
    __syncthreads();
    StoreElements<T>(m, tile, corner, lead + matrix, output + matrix);
    __syncthreads();
  }
}

struct Call {
  Matrices m;
  const void* input;
  void* output;
};

template <typename T, int kWidth>
bool LaunchVectors(const Call& call, CudaContext& context) {
  using Tile = TileOf<T, kWidth>;
  const auto [m, input, output] = call;
  const auto addresses = reinterpret_cast<uintptr_t>(input) | reinterpret_cast<uintptr_t>(output);
  if ((m.a | m.b) % kWidth != 0 || addresses % sizeof(typename Tile::V) != 0) return false;
  const Grid grid = {m.n * CeilDiv(m.a, Tile::kSide) * CeilDiv(m.b, Tile::kSide), kThreads};
  context.Launch(TransposeVectors<T, kWidth>, grid, m, static_cast<const T*>(input),
                 static_cast<T*>(output));
  return true;
}

template <typename T>
bool LaunchElements(const Call& call, CudaContext& context) {
  using E = Elements<T>;
  const auto [m, input, output] = call;
  const auto lead = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(output) / sizeof(T));
  const Grid grid = {m.n * CeilDiv(m.a + E::kSector - 1, E::kOwned) * CeilDiv(m.b, kTileB),
                     kThreads};
  context.Launch(TransposeElements<T>, grid, m, lead, static_cast<const T*>(input),
                 static_cast<T*>(output));
  return true;
}

mluOpStatus_t TransposeCuda(const Arguments& a, CudaContext& context) {
  const auto size = [&](const char* name) { return static_cast<uint32_t>(a.Symbol(name)); };
  const Call call = {{size("N"), size("A"), size("B")}, a.In<void>("input"), a.Out<void>("output")};
  if (a.Type() == MLUOP_DTYPE_HALF) {
    using T = uint16_t;
    LaunchVectors<T, 8>(call, context) || LaunchVectors<T, 4>(call, context) ||
        LaunchVectors<T, 2>(call, context) || LaunchElements<T>(call, context);
  } else {
    using T = uint32_t;
    LaunchVectors<T, 4>(call, context) || LaunchVectors<T, 2>(call, context) ||
        LaunchElements<T>(call, context);
  }
  return context.status();
}

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CudaContext&)>
mluOpStatus_t RunWhole(const CudaCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CudaImplementation<Whole> kTranspose[] = {{"default", "always", Always, nullptr, RunWhole<TransposeCuda>}};
constexpr CudaOperator kTransposeCuda = Bind<MakeWhole, kTranspose>("transpose");

constexpr const CudaOperator* kOperators[] = {&kTransposeCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::transpose
