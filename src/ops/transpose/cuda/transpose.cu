// SPDX-License-Identifier: Apache-2.0
// transpose on CUDA devices: tiles of the matrix pass through shared memory, so that loads and stores
// are coalesced. "vectors": sizes and pointers are multiples of a vector; a thread transposes squares
// of vectors in registers, and memory is accessed by vectors alone, of up to 16 bytes. "elements":
// element by element, with stores that start at a sector of device memory.
#include "cuda/context.h"
#include "ops/transpose/cuda/double.h"
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

// The first element of a tile, and its matrix.
struct Corner {
  int a, b;
  uint32_t matrix;
};

// Element r of turned[c] = element c of rows[r].
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
  static __device__ void Load(const Matrices& m, const T* input, const Corner& corner, V* tile) {
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

  static __device__ void Store(const Matrices& m, const V* tile, const Corner& corner, uint32_t,
                               T* output) {
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
  // Rows of the output start anywhere in a sector, and a tile owns the sectors that start in it. So
  // it loads one sector more.
  static constexpr int kSector = 32 / sizeof(T);
  static constexpr int kDown = kLoaded - kSector, kBefore = kSector;
  static constexpr int kPitch = kLoaded + 4 / sizeof(T);  // puts a column into different banks
  static constexpr int kShared = kAcross * kPitch;
  static constexpr int kBlocksPerSm = 4;

  // A warp loads rows of the input, four at a time.
  static __device__ void Load(const Matrices& m, const T* input, const Corner& corner, T* tile) {
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

  // A warp stores one row of the output after the other; `lead` is the place of the matrix in a sector.
  static __device__ void Store(const Matrices& m, const T* tile, const Corner& corner,
                               uint32_t lead, T* output) {
    constexpr int kRuns = kLoaded / kWarp;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int rows = min(kAcross, static_cast<int>(m.b) - corner.b);
    for (int row = warp; row < rows; row += kWarps) {
      const uint32_t at = (corner.b + row) * m.a;
      const int skip = kSector - static_cast<int>((lead + at) % kSector);
      const int first = corner.a + skip, begin = max(-first, 0);
      const uint32_t count = max(min(kDown, static_cast<int>(m.a) - first) - begin, 0);
      T value[kRuns];
      bool is_owned[kRuns];
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int i = lane + run * kWarp;
        is_owned[run] = static_cast<uint32_t>(i - begin) < count;
        value[run] = is_owned[run] ? tile[row * kPitch + skip + i] : T{0};
      }
      T* to = output + (static_cast<int64_t>(at) + first + lane);
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        if (is_owned[run]) to[run * kWarp] = value[run];
      }
    }
  }
};

// Tiles along a; the first one begins kBefore rows before the matrix, and stores none or some of them.
template <class Tile>
__host__ __device__ uint32_t TilesDown(uint32_t a) {
  return (a + (Tile::kBefore > 0 ? Tile::kBefore - 1 : 0) + Tile::kDown - 1) / Tile::kDown;
}
template <class Tile>
__host__ __device__ uint32_t TilesAcross(uint32_t b) {
  return (b + Tile::kAcross - 1) / Tile::kAcross;
}

// input: [n, a, b], output: [n, b, a]; `lead` is the output's place in its sector.
template <class Tile, typename T = typename Tile::T>
__global__ void __launch_bounds__(kThreads, Tile::kBlocksPerSm)
    TransposeTiles(Matrices m, uint32_t lead, const T* __restrict__ input, T* __restrict__ output) {
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

using TransposeCall = CudaCall<Problem>;

template <class Tile>
void Launch(const TransposeCall& call) {
  using T = typename Tile::T;
  const Problem& p = call.p;
  const Matrices m = {static_cast<uint32_t>(p.n), static_cast<uint32_t>(p.a),
                      static_cast<uint32_t>(p.b)};
  T* const output = call.arguments.Out<T>("output");
  const auto lead = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(output) / sizeof(T));
  const Grid grid = {p.n * TilesDown<Tile>(m.a) * TilesAcross<Tile>(m.b), kThreads};
  call.context.Launch(TransposeTiles<Tile>, grid, m, lead, call.arguments.In<T>("input"), output);
}

// Returns true if `width` divides A, B and both addresses (in elements).
bool CanVectorize(int width, const TransposeCall& call) {
  const auto addresses = reinterpret_cast<uintptr_t>(call.arguments.tensors[0].data) |
                         reinterpret_cast<uintptr_t>(call.arguments.tensors[1].data);
  return (call.p.a | call.p.b) % width == 0 && addresses % (width * (call.p.half ? 2 : 4)) == 0;
}

mluOpStatus_t RunVectors(const TransposeCall& call, void*) {
  if (call.p.half) {
    CanVectorize(8, call) ? Launch<VectorTile<uint16_t, 8>>(call)
                          : Launch<VectorTile<uint16_t, 2>>(call);
  } else {
    CanVectorize(4, call) ? Launch<VectorTile<uint32_t, 4>>(call)
                          : Launch<VectorTile<uint32_t, 2>>(call);
  }
  return call.context.status();
}

mluOpStatus_t RunElements(const TransposeCall& call, void*) {
  call.p.half ? Launch<ElementTile<uint16_t>>(call) : Launch<ElementTile<uint32_t>>(call);
  return call.context.status();
}

bool HasSmallMatrices(const TransposeCall& call) { return call.p.a * call.p.b < kSmallLimit; }

// Runs the implementation on as many matrices at a time as have fewer than 2^31 elements.
template <mluOpStatus_t (*kRun)(const TransposeCall&, void*)>
mluOpStatus_t RunBatches(const TransposeCall& call, void* scratch) {
  const int64_t elements = call.p.a * call.p.b, matrices = (kSmallLimit - 1) / elements;
  const int64_t bytes = matrices * elements * (call.p.half ? 2 : 4);
  Problem p = call.p;
  Arguments arguments = call.arguments;
  for (int64_t first = 0; first < call.p.n; first += matrices) {
    p.n = std::min(matrices, call.p.n - first);
    if (const mluOpStatus_t status = kRun({p, arguments, call.context}, scratch)) return status;
    for (TensorArgument& tensor : arguments.tensors) {
      if (tensor.data != nullptr) tensor.data = static_cast<char*>(tensor.data) + bytes;
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

constexpr CudaImplementation<Problem> kTranspose[] = {
    {"vectors", "A, B and both addresses are even multiples of an element",
     [](const TransposeCall& call) { return HasSmallMatrices(call) && CanVectorize(2, call); },
     nullptr, RunBatches<RunVectors>},
    {"elements", "a matrix has fewer than 2^31 elements", HasSmallMatrices, nullptr,
     RunBatches<RunElements>},
    CudaImplementation<Problem>::ForDouble(RunDouble)};
constexpr CudaOperator kTransposeCuda = Bind<MakeProblem, kTranspose>("transpose");
constexpr const CudaOperator* kOperators[] = {&kTransposeCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::transpose
