// SPDX-License-Identifier: Apache-2.0
// The products of masked_conv2d: a tile of kTile masked positions by kTile outputs per block. The
// rows of A are the windows of the positions, gathered tap by tap from the arranged features; the
// rows of B are weights. kStages tiles of kDepth terms are in flight. Half is multiplied by tensor
// cores, float by fused multiply-adds.
#include <cuda_pipeline.h>
#include <mma.h>

#include "cuda/pdl.h"
#include "cuda/ptx.h"
#include "ops/masked_conv2d/cuda/kernels.h"

namespace mluop::masked_conv2d {
namespace {

// Elements of a copy of 16 bytes, and of a row of a tile in shared memory. The padding puts the rows
// that a warp reads together into different banks.
template <typename T>
inline constexpr int kChunk = 16 / sizeof(T);
template <typename T>
inline constexpr int kPitch = kDepth<T> + kChunk<T>;
template <typename T>
inline constexpr int kTileElements = kPitch<T>* kTile;

// The sums of a warp, 64 positions by 32 outputs, on tensor cores.
class HalfSums {
  static constexpr int kDown = 4, kAcross = 2, kEdge = 16;
  template <class Use, class Layout>
  using Fragment = nvcuda::wmma::fragment<Use, kEdge, kEdge, kEdge, half, Layout>;

 public:
  __device__ HalfSums() {
    for (auto& row : sums_)
      for (auto& sum : row) nvcuda::wmma::fill_fragment(sum, 0.0f);
  }

  __device__ void Add(const half* a, const half* b) {
    using namespace nvcuda::wmma;
    constexpr int kLength = kPitch<half>;
#pragma unroll
    for (int k = 0; k < kDepth<half>; k += kEdge) {
      Fragment<matrix_b, col_major> columns[kAcross];
#pragma unroll
      for (int j = 0; j < kAcross; ++j)
        load_matrix_sync(columns[j], b + (Column() + j * kEdge) * kLength + k, kLength);
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
        Fragment<matrix_a, row_major> rows;
        load_matrix_sync(rows, a + (Row() + i * kEdge) * kLength + k, kLength);
#pragma unroll
        for (int j = 0; j < kAcross; ++j) mma_sync(sums_[i][j], rows, columns[j], sums_[i][j]);
      }
    }
  }

  __device__ void Store(float* to, int64_t pitch) const {
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
#pragma unroll
      for (int j = 0; j < kAcross; ++j)
        nvcuda::wmma::store_matrix_sync(to + (Row() + i * kEdge) * pitch + Column() + j * kEdge,
                                        sums_[i][j], static_cast<unsigned>(pitch),
                                        nvcuda::wmma::mem_row_major);
    }
  }

 private:
  static __device__ int Warp() { return threadIdx.x / 32; }
  static __device__ int Row() { return Warp() / 4 * kDown * kEdge; }
  static __device__ int Column() { return Warp() % 4 * kAcross * kEdge; }

  using Sum = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kEdge, kEdge, kEdge, float>;
  Sum sums_[kDown][kAcross];
};

// The sums of a thread, 8 positions by 8 outputs, 16 apart.
class FloatSums {
  static constexpr int kEdge = 8, kStep = kTile / kEdge;

 public:
  __device__ void Add(const float* a, const float* b) {
    constexpr int kLength = kPitch<float>;
#pragma unroll
    for (int k = 0; k < kDepth<float>; k += 2) {  // four terms at a time need too many registers
      float2 columns[kEdge];
#pragma unroll
      for (int j = 0; j < kEdge; ++j) columns[j] = Load(b + (Column() + j * kStep) * kLength + k);
#pragma unroll
      for (int i = 0; i < kEdge; ++i) {
        const float2 row = Load(a + (Row() + i * kStep) * kLength + k);
#pragma unroll
        for (int j = 0; j < kEdge; ++j) {
          sums_[i][j] = fmaf(row.x, columns[j].x, sums_[i][j]);
          sums_[i][j] = fmaf(row.y, columns[j].y, sums_[i][j]);
        }
      }
    }
  }

  __device__ void Store(float* to, int64_t pitch) const {
#pragma unroll
    for (int i = 0; i < kEdge; ++i) {
#pragma unroll
      for (int j = 0; j < kEdge; ++j)
        to[(Row() + i * kStep) * pitch + Column() + j * kStep] = sums_[i][j];
    }
  }

 private:
  static __device__ float2 Load(const float* from) {
    return *reinterpret_cast<const float2*>(from);
  }
  // A warp has 4 rows and 8 columns of threads, the block 16 and 16.
  static __device__ int Row() { return threadIdx.x / 64 * 4 + threadIdx.x % 32 / 8; }
  static __device__ int Column() { return threadIdx.x / 32 % 2 * 8 + threadIdx.x % 8; }

  float sums_[kEdge][kEdge] = {};
};

template <typename T>
struct SumsOf {
  using Type = FloatSums;
};
template <>
struct SumsOf<half> {
  using Type = HalfSums;
};

// Copies the tiles of one step after the other to shared memory. A thread copies the same chunk of
// some rows of each tile in all steps.
template <typename T>
class TileLoader {
  static constexpr int kChunks = kDepth<T> / kChunk<T>;  // of a row
  static constexpr int kStep = kThreads / kChunks;       // distance of the rows of a thread
  static constexpr int kRows = kTile / kStep;

 public:
  __device__ TileLoader(const Sizes& sizes, const Geometry& geometry, const Arranged<T>& from,
                        int first_rank, int first_output, int first_step)
      : sizes_(sizes), geometry_(geometry), features_(from.features) {
    const int row = static_cast<int>(threadIdx.x) / kChunks;
    const int chunk = static_cast<int>(threadIdx.x) % kChunks * kChunk<T>;
    const int tap = first_step * kDepth<T> / sizes.padded_channels;
    channel_ = first_step * kDepth<T> % sizes.padded_channels + chunk;
    tap_x_ = tap % sizes.kernel_w;
    weight_ = from.weight + (first_output + row) * sizes.terms() + first_step * kDepth<T> + chunk;
    at_ = row * kPitch<T> + chunk;
    const int count = *from.count;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int rank = first_rank + row + i * kStep;
      // Positions behind the last masked one lie above the features.
      y_[i] = kOutside;
      if (rank >= count) continue;
      const int position = from.masked[rank], in_image = position % sizes.image_positions();
      y_[i] = in_image / sizes.columns * geometry.stride_h - geometry.pad_h +
              tap / sizes.kernel_w * geometry.dilation_h;
      x_[i] = in_image % sizes.columns * geometry.stride_w - geometry.pad_w +
              tap_x_ * geometry.dilation_w;
      image_[i] = position / sizes.image_positions();
    }
  }

  __device__ void LoadNext(T* a, T* b) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const bool inside = static_cast<unsigned>(y_[i]) < static_cast<unsigned>(sizes_.height) &&
                          static_cast<unsigned>(x_[i]) < static_cast<unsigned>(sizes_.width);
      const int pixel = inside ? image_[i] * sizes_.plane + y_[i] * sizes_.width + x_[i] : 0;
      const T* const from = features_ + int64_t{pixel} * sizes_.padded_channels;
      __pipeline_memcpy_async(a + at_ + i * kStep * kPitch<T>, from + channel_, 16,
                              inside ? 0 : 16);
      __pipeline_memcpy_async(b + at_ + i * kStep * kPitch<T>, weight_ + i * kStep * sizes_.terms(),
                              16);
    }
    weight_ += kDepth<T>;
    channel_ += kDepth<T>;
    if (channel_ >= sizes_.padded_channels) StartNextTap();
  }

 private:
  static constexpr int kOutside = -(1 << 30);

  __device__ void StartNextTap() {
    channel_ -= sizes_.padded_channels;
    ++tap_x_;
    const bool next_row = tap_x_ == sizes_.kernel_w;
    const int right =
        next_row ? (1 - sizes_.kernel_w) * geometry_.dilation_w : geometry_.dilation_w;
    if (next_row) tap_x_ = 0;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      x_[i] += right;
      if (next_row) y_[i] += geometry_.dilation_h;
    }
  }

  const Sizes& sizes_;
  const Geometry& geometry_;
  const T* features_;
  const T* weight_;
  int at_, channel_, tap_x_;
  int y_[kRows], x_[kRows] = {}, image_[kRows] = {};
};

template <typename T>
constexpr size_t kStageBytes = size_t{2} * kTileElements<T> * sizeof(T);

// Grid: tiles of outputs, then splits, then tiles of positions, so that blocks without masked
// positions are last. Float runs one block per SM: the GPU fills an SM before it takes the next, and
// few tiles must spread over all SMs. 0.55x the time with 10 % of 100x152 positions (H200).
template <typename T>
__global__ void __launch_bounds__(kThreads, sizeof(T) == sizeof(half) ? 2 : 1)
    MultiplyKernel(const __grid_constant__ Sizes sizes, const __grid_constant__ Geometry geometry,
                   Arranged<T> arranged) {
  T* const tiles = DynamicShared<T>();
  const int across = sizes.padded_outputs / kTile, block = static_cast<int>(blockIdx.x);
  const int first_output = block % across * kTile, split = block / across % sizes.splits;
  const int first_rank = block / across / sizes.splits * kTile;
  WaitForPredecessor();
  TriggerDependents();
  if (first_rank >= *arranged.count) return;

  const int all_steps = static_cast<int>(sizes.terms() / kDepth<T>);
  const int begin = static_cast<int>(int64_t{all_steps} * split / sizes.splits);
  const int end = static_cast<int>(int64_t{all_steps} * (split + 1) / sizes.splits);
  TileLoader<T> loader(sizes, geometry, arranged, first_rank, first_output, begin);
  const auto tile = [&](int stage) { return tiles + stage * 2 * kTileElements<T>; };
  const auto load = [&](int step, int stage) {
    if (step < end) loader.LoadNext(tile(stage), tile(stage) + kTileElements<T>);
    __pipeline_commit();
  };
  for (int k = 0; k < kStages - 1; ++k) load(begin + k, k);
  typename SumsOf<T>::Type sums;
  int stage = 0;
  for (int step = begin; step < end; ++step) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();  // the tiles of this step are complete, the previous tiles are free
    load(step + kStages - 1, stage == 0 ? kStages - 1 : stage - 1);
    sums.Add(tile(stage), tile(stage) + kTileElements<T>);
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
  const int64_t rows = RoundUp(sizes.positions, kTile), pitch = sizes.padded_outputs;
  sums.Store(arranged.sums + (split * rows + first_rank) * pitch + first_output, pitch);
}

}  // namespace

template <typename T>
void Multiply(CudaContext& context, const Sizes& sizes, const Geometry& geometry,
              const Arranged<T>& arranged) {
  const int64_t blocks =
      CeilDiv(sizes.positions, kTile) * sizes.splits * (sizes.padded_outputs / kTile);
  const Grid grid = {blocks, kThreads, kStages * kStageBytes<T>, /*pdl=*/true};
  context.Launch(MultiplyKernel<T>, grid, sizes, geometry, arranged);
}

template void Multiply(CudaContext&, const Sizes&, const Geometry&, const Arranged<half>&);
template void Multiply(CudaContext&, const Sizes&, const Geometry&, const Arranged<float>&);

}  // namespace mluop::masked_conv2d
