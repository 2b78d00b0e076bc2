// SPDX-License-Identifier: Apache-2.0
// masked_im2col backward on CUDA devices. A block sums a band of a plane in shared memory, in float.
// Kernel elements are added one after the other. For one kernel element, masks at different
// positions write different pixels and are added at once, without atomics. The first of the masks
// at the same position adds all of them. The order of additions is fixed, outermost first: blocks of
// 8 x 8 kernel elements, blocks of 8 masks per thread, kernel elements, masks. None of it depends on
// the bands or on alignment.
#include <cuda_fp16.h>

#include <algorithm>

#include "cuda/for_each.h"
#include "ops/masked_im2col/cuda/thread_masks.h"

namespace mluop::masked_im2col {
namespace {

template <typename T>
struct BackwardParameters {
  Problem p;
  const T* grad_col;
  Masks masks;
  T* grad_feature;
  int rows, columns;  // of a band
  int row_bands, column_bands;
  int kernel_h, kernel_w;  // maximum kernel size handled at a time
  bool whole_chunks;       // bands start and end at multiples of 16 bytes
};

// One kernel element of the thread's masks.
template <typename T, int V>
struct Values {
  Pack<T, V> packs[kKeptMasks / V];

  __device__ float At(int k) const { return static_cast<float>(packs[k / V].at[k % V]); }

  // row: the kernel element's row of grad_col from the thread's first mask on. Skips groups without
  // a mask in the band, which avoids rereading rows for every band.
  __device__ void Load(const ThreadMasks<V>& kept, const T* row) {
#pragma unroll
    for (int k = 0; k < kKeptMasks; k += V) {
      int any = 0;
#pragma unroll
      for (int v = 0; v < V; ++v) any |= kept.at[k + v];
      if (any != 0) packs[k / V] = LoadPack<Pack<T, V>>(row + k * static_cast<int>(blockDim.x));
    }
  }
};

// Adds one kernel element of the masks: kAddsInFlight reads of sums, then as many writes. kLinked:
// masks at the same position are in lists; kAddsInFlight lists are followed concurrently. `sums`
// points to the kernel element's first sum in the band.
template <bool kLinked, typename T, int V>
__device__ void AddValues(float* sums, const Tables& tables, const ThreadMasks<V>& kept,
                          const Values<T, V>& values) {
#pragma unroll
  for (int first = 0; first < kKeptMasks; first += kAddsInFlight) {
    float sum[kAddsInFlight];
    int next[kAddsInFlight], any = 0;
#pragma unroll
    for (int a = 0; a < kAddsInFlight; ++a) {
      const int k = first + a;
      if (kept.at[k] > 0) sum[a] = sums[kept.template Place<kLinked>(k)] + values.At(k);
      next[a] = kLinked && kept.at[k] > kept.kFirst ? tables.next[kept.Number(k) - 1] : 0;
      any |= next[a];
    }
    while (kLinked && any != 0) {
      any = 0;
#pragma unroll
      for (int a = 0; a < kAddsInFlight; ++a) {
        if (next[a] == 0) continue;
        sum[a] += tables.values[next[a] - 1];
        next[a] = tables.next[next[a] - 1];
        any |= next[a];
      }
    }
#pragma unroll
    for (int a = 0; a < kAddsInFlight; ++a) {
      const int k = first + a;
      if (kept.at[k] > 0) sums[kept.template Place<kLinked>(k)] = sum[a];
    }
  }
}

// Stores the values that the first masks of the lists add.
template <typename T, int V>
__device__ void StoreListed(Tables* tables, const ThreadMasks<V>& kept,
                            const Values<T, V>& values) {
#pragma unroll
  for (int k = 0; k < kKeptMasks; ++k) {
    if (kept.at[k] == kept.kListed) tables->values[kept.Number(k) - 1] = values.At(k);
  }
}

// Adds all kernel elements of the masks. row: of grad_col, of the first kernel element. next: its
// values. Ends with a barrier.
template <bool kLinked, typename T, int V>
__device__ void AddTaps(const Problem& p, const Band& band, const ThreadMasks<V>& kept,
                        const T* row, Values<T, V> next) {
  const int taps_h = min(band.kernel_h, p.kernel_h - band.i);
  const int taps_w = min(band.kernel_w, p.kernel_w - band.j);
  int i = 0, j = 0;
#pragma unroll 1
  while (i < taps_h) {
    const Values<T, V> values = next;
    float* const sums = band.sums + i * band.pitch() + j;
    row += p.masks;
    if (++j == taps_w) {
      ++i, j = 0;
      row += int64_t{p.kernel_w - taps_w} * p.masks;
    }
    if (i < taps_h) next.Load(kept, row);
    if constexpr (kLinked) {
      StoreListed(band.tables, kept, values);
      __syncthreads();
    }
    AddValues<kLinked>(sums, *band.tables, kept, values);
    __syncthreads();
  }
}

// Masks [first, first + kKeptMasks*threads). Synchronises the block at entry and exit.
template <typename T, int V>
__device__ void AddMasks(const BackwardParameters<T>& call, const Band& band, int64_t first) {
  const Problem& p = call.p;
  ThreadMasks<V> kept = LoadThreadMasks<V>(p, call.masks, band, first);
  int any = 0;
#pragma unroll
  for (int k = 0; k < kKeptMasks; ++k) any |= kept.at[k];
  ClearSearch(&band.tables->search);
  if (!__syncthreads_or(any != 0)) return;
  const T* row = call.grad_col + first + threadIdx.x * V +
                 (band.channel * p.taps() + int64_t{band.i} * p.kernel_w + band.j) * p.masks;
  Values<T, V> next = {};
  next.Load(kept, row);
  const uint32_t repeated = FindRepeated(&band.tables->search, kept);
  if (LinkMasks(band.tables, repeated, &kept)) {
    AddTaps<true>(p, band, kept, row, next);
  } else {
    AddTaps<false>(p, band, kept, row, next);
  }
}

// A chunk of 16 bytes may span rows: bands with whole chunks are as wide as the feature.
template <typename T>
__device__ void WriteBand(const BackwardParameters<T>& call, const Band& band) {
  T* const to = call.grad_feature + band.channel * call.p.plane() +
                int64_t{band.row} * call.p.width + band.column;
  const int size = band.rows * band.columns;
  if (!call.whole_chunks) {
    for (int k = threadIdx.x; k < size; k += blockDim.x) {
      const int r = k / band.columns, c = k - r * band.columns;
      to[int64_t{r} * call.p.width + c] = static_cast<T>(band.sums[band.Place(r, c)]);
    }
    return;
  }
  constexpr int kChunk = 16 / sizeof(T);
  for (int k = threadIdx.x * kChunk; k < size; k += blockDim.x * kChunk) {
    const int r = k / band.columns;
    int c = k - r * band.columns, place = band.Place(r, c);
    Pack<T, kChunk> pack;
#pragma unroll
    for (int v = 0; v < kChunk; ++v) {
      pack.at[v] = static_cast<T>(band.sums[place++]);
      if (++c == band.columns) c = 0, place += band.kernel_w;
    }
    StorePack(pack, to + k);
  }
}

template <typename T, int V>
__device__ void SumBand(const BackwardParameters<T>& call, Band band) {
  const Problem& p = call.p;
  const T* const rows = call.grad_col + band.channel * p.taps() * p.masks;
  PrefetchLines(rows, rows + p.taps() * p.masks);
  for (int k = threadIdx.x; k < band.size(); k += blockDim.x) band.sums[k] = 0;
  for (int64_t i = 0; i < p.kernel_h; i += band.kernel_h) {
    for (int64_t j = 0; j < p.kernel_w; j += band.kernel_w) {
      band.i = static_cast<int>(i);
      band.j = static_cast<int>(j);
      for (int64_t first = 0; first < p.masks; first += kKeptMasks * int64_t{blockDim.x})
        AddMasks<T, V>(call, band, first);
    }
  }
  WriteBand(call, band);
  __syncthreads();
}

template <typename T, int V>
__global__ void __launch_bounds__(kBackwardThreads, kBackwardBlocksPerSm)
    SumBands(BackwardParameters<T> call) {
  auto* const tables = DynamicShared<Tables>();
  const int64_t bands = int64_t{call.row_bands} * call.column_bands;
  for (int64_t item = blockIdx.x; item < call.p.channels * bands; item += gridDim.x) {
    Band band = {};
    band.channel = item / bands;
    const auto rest = static_cast<int>(item % bands);
    band.row = rest / call.column_bands * call.rows;
    band.column = rest % call.column_bands * call.columns;
    band.rows = min(call.rows, call.p.height - band.row);
    band.columns = min(call.columns, call.p.width - band.column);
    band.kernel_h = call.kernel_h;
    band.kernel_w = call.kernel_w;
    band.tables = tables;
    band.sums = reinterpret_cast<float*>(tables + 1);
    SumBand<T, V>(call, band);
  }
}

// Divides planes into bands. Returns the shared memory per band in bytes.
template <typename T>
size_t PlanBands(const CudaContext& context, BackwardParameters<T>* call) {
  const Problem& p = call->p;
  const int64_t kernel_h = std::min(p.kernel_h, kMaxKernel);
  const int64_t kernel_w = std::min(p.kernel_w, kMaxKernel);
  // Two blocks per SM, unless each would get less than kMaxShared.
  const size_t shared = std::max(context.shared_bytes() / kBackwardBlocksPerSm - kReserved,
                                 std::min(context.shared_bytes(), kMaxShared));
  const auto floats = std::min<int64_t>((shared - sizeof(Tables)) / sizeof(float), kMaxPlaces);
  const int64_t widest = (floats - kernel_w) / (kMinRows + 2 * kernel_h) - kernel_w;
  const int64_t columns = std::min<int64_t>(p.width, widest);
  const int64_t pitch = columns + kernel_w;
  const int64_t most = std::min<int64_t>((floats - kernel_w) / pitch - 2 * kernel_h, p.height);
  const int64_t wanted = int64_t{context.sm_count()} * kBackwardBlocksPerSm / p.channels;
  const int64_t least = std::min(CeilDiv(kMinBandPixels, columns), most);
  const int64_t rows = std::clamp(CeilDiv(p.height, std::max<int64_t>(wanted, 1)), least, most);
  call->rows = static_cast<int>(rows);
  call->columns = static_cast<int>(columns);
  call->row_bands = static_cast<int>(CeilDiv(p.height, rows));
  call->column_bands = static_cast<int>(CeilDiv(p.width, columns));
  call->kernel_h = static_cast<int>(kernel_h);
  call->kernel_w = static_cast<int>(kernel_w);
  const auto sums = static_cast<size_t>((rows + 2 * kernel_h) * pitch + kernel_w);
  return sizeof(Tables) + sums * sizeof(float);
}

template <typename T, int V>
void LaunchBands(BackwardParameters<T> call, CudaContext& context) {
  const size_t bytes = PlanBands(context, &call);
  constexpr int64_t kChunk = 16 / sizeof(T);
  const int64_t width = call.p.width;
  call.whole_chunks = IsAligned(call.grad_feature, 16) && call.p.plane() % kChunk == 0 &&
                      call.columns == width &&
                      (call.row_bands == 1 || call.rows * width % kChunk == 0);
  const int threads = ThreadsFor(CeilDiv(call.p.masks, kKeptMasks), kBackwardThreads);
  const int64_t bands = int64_t{call.row_bands} * call.column_bands;
  const int64_t blocks = std::min<int64_t>(call.p.channels * bands, INT32_MAX);
  context.Launch(SumBands<T, V>, {blocks, threads, bytes}, call);
}

template <typename T>
void SumMasks(const CudaCall<Problem>& call) {
  const Arguments& a = call.arguments;
  BackwardParameters<T> b = {};
  b.p = call.p;
  b.grad_col = a.In<T>("grad_col");
  b.masks = MasksOf(a);
  b.grad_feature = a.Out<T>("grad_feature");
  constexpr int kChunk = 16 / sizeof(T);
  if (b.p.masks == 0) {
    call.context.Zero(b.grad_feature, a.Tensor("grad_feature").ByteCount());
  } else if (b.masks.CanVectorize(b.p.masks, kChunk) && IsAligned(b.grad_col, 16)) {
    LaunchBands<T, kChunk>(b, call.context);
  } else {
    LaunchBands<T, 1>(b, call.context);
  }
}

mluOpStatus_t RunBands(const CudaCall<Problem>& call, void* /*scratch*/) {
  IsHalf(call.arguments) ? SumMasks<__half>(call) : SumMasks<float>(call);
  return call.context.status();
}

// Implementation "double": a thread owns an element of [C, H, W], and adds masks in ascending order.
mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void*) {
  const Problem p = call.p;
  const Masks masks = MasksOf(call.arguments);
  const auto* grad_col = call.arguments.In<double>("grad_col");
  auto* grad_feature = call.arguments.Out<double>("grad_feature");
  ForEach(call.context, p.channels * p.plane(), [=] __device__(int64_t i) {
    const int64_t channel = i / p.plane(), pixel = i % p.plane();
    double sum = 0;
    for (int64_t m = 0; m < p.masks; ++m) {
      const int64_t row = pixel / p.width - p.Top(masks.h[m]);
      const int64_t column = pixel % p.width - p.Left(masks.w[m]);
      if (row < 0 || row >= p.kernel_h || column < 0 || column >= p.kernel_w) continue;
      const int64_t tap = row * p.kernel_w + column;
      sum += grad_col[(channel * p.taps() + tap) * p.masks + m];
    }
    grad_feature[i] = sum;
  });
  return call.context.status();
}

constexpr CudaImplementation<Problem> kBackward[] = {
    {"bands", "always", Always, nullptr, RunBands},
    CudaImplementation<Problem>::ForDouble(RunDoubleBackward),
};

}  // namespace

constexpr CudaOperator kBackwardCuda = Bind<MakeProblem, kBackward>("masked_im2col_backward");

}  // namespace mluop::masked_im2col
