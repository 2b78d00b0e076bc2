// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool forward on CUDA devices. The order of a sum is torchvision's, so one
// thread owns a sum. Small maps are read in place. A block copies some planes of a large map to
// shared memory and pools all RoIs from there: the map is read once, in whole sectors.
#include <cuda_pipeline.h>

#include <algorithm>

#include "ops/roi/cuda/pixels.h"
#include "ops/torchvision_ps_roi_pool/cuda/kernels.h"
#include "ops/torchvision_ps_roi_pool/cuda/tuning.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

constexpr int kThreads = 256;
// Minimum blocks per SM (__launch_bounds__), so that some load while others pool. sm_75 has 1024
// threads per SM.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBlocks = 4;
#else
constexpr int kBlocks = 6;
#endif

// Loads in flight: bins are small, and latency would dominate.
constexpr int kLoads = 8;

// Adds in the order of the pixels.
__device__ float SumPixels(roi::Pixels<> pixels, const float* __restrict__ plane) {
  float sum = 0;
  while (pixels.any()) {
    float values[kLoads];
    pixels.Load(plane, values);
#pragma unroll
    for (const float value : values) sum += value;
  }
  return sum;
}

// A block owns `blockDim.x` outputs of one RoI, or the rest of them.
__global__ void __launch_bounds__(kThreads) PoolDirect(Problem p, Tensors t, int slices) {
  __shared__ Place shared_place;
  const int64_t r = blockIdx.x / static_cast<unsigned>(slices);
  if (threadIdx.x == 0) shared_place = PlaceRoi(p, t.rois + r * 5);
  __syncthreads();
  const auto channel = blockIdx.x % static_cast<unsigned>(slices) * blockDim.x + threadIdx.x;
  if (channel >= p.channels()) return;
  const Place place = shared_place;
  float mean = 0;
  if (place.image >= 0) {
    const unsigned bin = channel % static_cast<unsigned>(p.bins());
    const auto across = static_cast<unsigned>(p.pooled_w);
    const Span rows = place.Rows(p, static_cast<int>(bin / across));
    const Span columns = place.Columns(p, static_cast<int>(bin % across));
    const int area = rows.size() * columns.size();
    const float* plane = t.input + (place.image * p.channels() + channel) * p.pixels();
    const roi::Pixels<> pixels(rows, columns, static_cast<unsigned>(p.w), 1);
    const float sum = SumPixels(pixels, plane);
    if (area > 0) mean = sum / static_cast<float>(area);
  }
  t.output[r * p.channels() + channel] = mean;
}

// The spans of all bins in scratch. They are computed once per call: every block visits every RoI.
struct SpanTable {
  int64_t rois;
  Span* rows;     // [pooled_h, R]
  Span* columns;  // [pooled_w, R]

  static size_t Bytes(const Problem& p) {
    const int64_t spans = p.rois * (int64_t{p.pooled_h} + p.pooled_w);
    return AlignedBytes(static_cast<size_t>(spans) * sizeof(Span));
  }
  SpanTable(const Problem& p, void* scratch)
      : rois(p.rois), rows(static_cast<Span*>(scratch)), columns(rows + p.pooled_h * p.rois) {}

  __device__ Span Rows(int ph, int64_t r) const { return rows[ph * rois + r]; }
  __device__ Span Columns(int pw, int64_t r) const { return columns[pw * rois + r]; }
};

// A thread writes one span. There are fewer than 2^32 spans: R*pooled_h*pooled_w is below 2^31.
// rois: [R, 5]
__global__ void __launch_bounds__(kThreads)
    WriteSpans(Problem p, const float* __restrict__ rois, SpanTable table) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= p.rois * (int64_t{p.pooled_h} + p.pooled_w)) return;
  const auto item = static_cast<unsigned>(i), count = static_cast<unsigned>(p.rois);
  const auto bin = static_cast<int>(item / count);  // of the rows, then of the columns
  const Place place = PlaceRoi(p, rois + int64_t{item % count} * 5);
  table.rows[i] = bin < p.pooled_h ? place.MapRows(p, bin) : place.Columns(p, bin - p.pooled_h);
}

// Staging layout: `planes` planes of an image at a time, `stride` apart.
struct Staging {
  int planes;
  int stride;
};

// Planes begin one bank apart: neighbouring threads read neighbouring planes at similar pixels. 32 banks
// are 128 bytes.
int StrideOf(const Problem& p) {
  const auto pixels = static_cast<int>(p.pixels());
  return pixels + (33 - pixels % 32) % 32;
}

__device__ float SumStaged(const float* plane, Span rows, Span columns, int width) {
  float sum = 0;
  const float* row = plane + rows.begin * width + columns.begin;
  for (int h = rows.size(); h > 0; --h, row += width) {
    for (int w = 0; w < columns.size(); ++w) sum += row[w];
  }
  return sum;
}

struct BinIndex {
  int ph, pw;
};

// A block owns some neighbouring planes of one image; a thread owns one of them and pools one RoI after
// the other.
__global__ void __launch_bounds__(kThreads, kBlocks)
    PoolStaged(Problem p, Tensors t, SpanTable table, Staging staging) {
  extern __shared__ float staged[];  // [planes, stride]
  __shared__ BinIndex bins[kMaxPlanes];
  const auto channels = static_cast<int>(p.channels()), pixels = static_cast<int>(p.pixels());
  const auto chunks = static_cast<unsigned>((channels - 1) / staging.planes + 1);
  const auto image = static_cast<int>(blockIdx.x / chunks);
  const int first = static_cast<int>(blockIdx.x % chunks) * staging.planes;
  const int planes = min(staging.planes, channels - first);
  const float* source = t.input + (int64_t{image} * channels + first) * pixels;
  for (int plane = 0; plane < planes; ++plane, source += pixels) {
    for (int i = threadIdx.x; i < pixels; i += kThreads) {
      __pipeline_memcpy_async(staged + plane * staging.stride + i, source + i, sizeof(float));
    }
  }
  __pipeline_commit();
  if (threadIdx.x < planes) {
    const int bin = (first + static_cast<int>(threadIdx.x)) % static_cast<int>(p.bins());
    bins[threadIdx.x] = {bin / p.pooled_w, bin % p.pooled_w};
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  const auto first_row = static_cast<int>(image * p.h), height = static_cast<int>(p.h);
  const int rois_of_step = kThreads / planes, used = rois_of_step * planes;
  if (threadIdx.x >= used) return;
  const int plane = threadIdx.x % planes;
  const BinIndex bin = bins[plane];
  for (int64_t r = threadIdx.x / planes; r < p.rois; r += rois_of_step) {
    Span rows = table.Rows(bin.ph, r);
    const Span columns = table.Columns(bin.pw, r);
    const int area = rows.size() * columns.size();
    // Empty bins may belong to no image, so the blocks of image 0 write them.
    if (area == 0 ? image > 0 : rows.begin < first_row || rows.begin >= first_row + height) {
      continue;
    }
    rows = {rows.begin - first_row, rows.end - first_row};
    const float sum =
        SumStaged(staged + plane * staging.stride, rows, columns, static_cast<int>(p.w));
    t.output[r * channels + first + plane] = area == 0 ? 0.0f : sum / static_cast<float>(area);
  }
}

// Shared memory of a block: three blocks fit an SM. Every device has 48 KiB.
int64_t StagedBytes(size_t shared_bytes) {
  const size_t most = std::max(size_t{48} << 10, shared_bytes / 3);
  return static_cast<int64_t>(most - sizeof(BinIndex) * kMaxPlanes);
}

int PlanesToStage(const Problem& p, size_t shared_bytes) {
  if (p.map_elements() < kMinStaged || p.rois * p.channels() * kMapPerOutput < p.map_elements()) {
    return 0;
  }
  const int64_t bytes = static_cast<int64_t>(sizeof(float)) * (p.pixels() + 32);
  return static_cast<int>(
      std::min({StagedBytes(shared_bytes) / bytes, p.channels(), int64_t{kMaxPlanes}}));
}

mluOpStatus_t RunDirect(const CudaCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const Tensors t(call.arguments);
  if (p.map_elements() == 0) {
    call.context.Zero(t.output, call.arguments.Tensor("output").ByteCount());
    return call.context.status();
  }
  const auto threads =
      static_cast<int>(std::min<int64_t>(CeilDiv(p.channels(), 32) * 32, kThreads));
  const int64_t slices = CeilDiv(p.channels(), threads);
  // No more blocks than outputs: below 2^31.
  call.context.Launch(PoolDirect, Grid{p.rois * slices, threads}, p, t, static_cast<int>(slices));
  return call.context.status();
}

mluOpStatus_t RunStaged(const CudaCall<Problem>& call, void* scratch) {
  const Problem& p = call.p;
  const Tensors t(call.arguments);
  const SpanTable table(p, scratch);
  const int64_t spans = p.rois * (int64_t{p.pooled_h} + p.pooled_w);
  call.context.Launch(WriteSpans, Grid{CeilDiv(spans, kThreads), kThreads}, p, t.rois, table);
  const Staging staging = {PlanesToStage(p, call.context.shared_bytes()), StrideOf(p)};
  // No more blocks than planes: below 2^31.
  call.context.Launch(PoolStaged,
                      Grid{p.n * CeilDiv(p.channels(), staging.planes), kThreads,
                           sizeof(float) * static_cast<size_t>(staging.planes) *
                               static_cast<size_t>(staging.stride)},
                      p, t, table, staging);
  return call.context.status();
}

constexpr CudaImplementation<Problem> kForward[] = {
    {"staged", "4 MiB of map or more, at most 32 elements per output, a plane fits shared memory",
     [](const CudaCall<Problem>& call) {
       return IsSmall(call) && PlanesToStage(call.p, call.context.shared_bytes()) > 0;
     },
     [](const CudaCall<Problem>& call) { return SpanTable::Bytes(call.p); }, RunStaged},
    {"direct", "tensors have fewer than 2^31 elements", IsSmall, nullptr, RunDirect},
    CudaImplementation<Problem>::ForDouble(RunDoubleForward),
};

}  // namespace

constexpr CudaOperator kForwardCuda =
    Bind<MakeProblem, kForward>("torchvision_ps_roi_pool_forward");

}  // namespace mluop::torchvision_ps_roi_pool
