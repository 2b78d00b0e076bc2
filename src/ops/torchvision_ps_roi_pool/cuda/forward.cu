// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool forward on CUDA devices. The order of a sum is given, so that one thread
// has it. Small maps are read where they are; of a large map a block stages some planes in shared
// memory and pools all rois from there, so that the map is read once, in whole sectors.
#include <cuda_pipeline.h>

#include <algorithm>

#include "ops/torchvision_ps_roi_pool/cuda/kernels.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

constexpr int kThreads = 256;
// To a processor, so that some load while others pool; the registers follow from it. sm_75 has
// threads for four.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBlocks = 4;
#else
constexpr int kBlocks = 6;
#endif

struct Tensors {
  const float* input;  // [N, C, H, W]
  const float* rois;   // [R, 5]
  float* output;       // [R, C]
};

// The pixels of a bin, row by row. Offsets are within a plane, below 2^31 elements; those past the
// bin's end may wrap, and nobody reads there.
class Pixels {
 public:
  __device__ Pixels(const Problem& p, Span rows, Span columns)
      : columns_(columns.end - columns.begin),
        column_(0),
        left_((rows.end - rows.begin) * columns_),
        width_(static_cast<unsigned>(p.w)),
        offset_(rows.begin * width_ + columns.begin) {}
  __device__ bool any() const { return left_ > 0; }
  __device__ unsigned offset() const { return offset_; }
  __device__ void Next() {
    --left_;
    ++offset_;
    if (++column_ < columns_) return;
    column_ = 0;
    offset_ += width_ - columns_;
  }

 private:
  int columns_, column_, left_;
  unsigned width_, offset_;
};

// Loads under way at a time: bins are small, and a wait for each pixel would be the whole time.
constexpr int kLoads = 8;

// Added in the order of the pixels. Zeros past the end change no bit: a sum that began with 0 is
// never -0.
__device__ float SumPixels(Pixels pixels, const float* __restrict__ plane) {
  float sum = 0;
  while (pixels.any()) {
    float values[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      values[i] = pixels.any() ? plane[pixels.offset()] : 0.0f;
      pixels.Next();
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) sum += values[i];
  }
  return sum;
}

// A block has `blockDim.x` outputs of one roi, or what is left of them.
__global__ void __launch_bounds__(kThreads) PoolDirectly(Problem p, Tensors t, int slices) {
  __shared__ Place shared_place;
  const int64_t r = blockIdx.x / static_cast<unsigned>(slices);
  if (threadIdx.x == 0) shared_place = PlaceOf(p, t.rois + r * 5);
  __syncthreads();
  const auto channel = blockIdx.x % static_cast<unsigned>(slices) * blockDim.x + threadIdx.x;
  if (channel >= p.channels()) return;
  const Place place = shared_place;
  float mean = 0;
  if (place.image >= 0) {
    const unsigned bin = channel % static_cast<unsigned>(p.bins());
    const auto across = static_cast<unsigned>(p.pooled_w);
    const Span rows = BinSpan(place.y, static_cast<int>(bin / across), p.h);
    const Span columns = BinSpan(place.x, static_cast<int>(bin % across), p.w);
    const int64_t area = rows.size() * columns.size();
    const float* plane = t.input + (place.image * p.channels() + channel) * p.pixels();
    const float sum = SumPixels(Pixels(p, rows, columns), plane);
    if (area > 0) mean = sum / static_cast<float>(area);
  }
  t.output[r * p.channels() + channel] = mean;
}

void PoolDirect(const Problem& p, const Tensors& t, CudaContext& context) {
  const auto threads =
      static_cast<int>(std::min<int64_t>(CeilDiv(p.channels(), 32) * 32, kThreads));
  const int64_t slices = CeilDiv(p.channels(), threads);
  // No more blocks than outputs: below 2^31.
  context.Launch(PoolDirectly, Grid{p.rois * slices, threads}, p, t, static_cast<int>(slices));
}

__global__ void __launch_bounds__(kThreads)
    Prepare(Problem p, const float* __restrict__ rois, SpanTable table) {
  WriteSpans(p, rois, table);
}

// How the planes of an image are staged: `planes` at a time, and their distance.
struct Cut {
  int planes;
  int stride;
};
// Many small blocks: their last ones leave few processors idle.
constexpr int kMostPlanes = 3;

// Planes begin one bank after another, because neighbouring threads read neighbouring planes, at
// much the same pixel. 32 banks are 128 bytes.
int StrideOf(const Problem& p) {
  const auto pixels = static_cast<int>(p.pixels());
  return pixels + (33 - pixels % 32) % 32;
}

__device__ float SumStaged(const float* plane, Range rows, Range columns, int width) {
  float sum = 0;
  const float* row = plane + rows.begin * width + columns.begin;
  for (int h = rows.size(); h > 0; --h, row += width) {
    for (int w = 0; w < columns.size(); ++w) sum += row[w];
  }
  return sum;
}

struct Bin {
  int ph, pw;
};

// A block has some neighbouring planes of one image; a thread one of them and one roi after the
// other, or as near to it as the number of planes lets.
__global__ void __launch_bounds__(kThreads, kBlocks)
    PoolStaged(Problem p, Tensors t, SpanTable table, Cut cut) {
  extern __shared__ float staged[];  // [planes, stride]
  __shared__ Bin bins[kMostPlanes];
  const auto channels = static_cast<int>(p.channels()), pixels = static_cast<int>(p.pixels());
  const auto chunks = static_cast<unsigned>((channels - 1) / cut.planes + 1);
  const auto image = static_cast<int>(blockIdx.x / chunks);
  const int first = static_cast<int>(blockIdx.x % chunks) * cut.planes;
  const int planes = min(cut.planes, channels - first);
  const float* source = t.input + (int64_t{image} * channels + first) * pixels;
  for (int plane = 0; plane < planes; ++plane, source += pixels) {
    for (int i = threadIdx.x; i < pixels; i += kThreads) {
      __pipeline_memcpy_async(staged + plane * cut.stride + i, source + i, sizeof(float));
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
  const Bin bin = bins[plane];
  for (int64_t r = threadIdx.x / planes; r < p.rois; r += rois_of_step) {
    Range rows = table.Rows(bin.ph, r);
    const Range columns = table.Columns(bin.pw, r);
    const int area = rows.size() * columns.size();
    // An empty bin may be on no image: the first one's block writes it.
    if (area == 0 ? image > 0 : rows.begin < first_row || rows.begin >= first_row + height) {
      continue;
    }
    rows = {rows.begin - first_row, rows.end - first_row};
    const float sum = SumStaged(staged + plane * cut.stride, rows, columns, static_cast<int>(p.w));
    t.output[r * channels + first + plane] = area == 0 ? 0.0f : sum / static_cast<float>(area);
  }
}

// Shared memory of a block: some of them fit, and 48 KiB are everywhere.
int64_t StagedBytes(size_t shared_bytes) {
  const size_t most = std::max(size_t{48} << 10, shared_bytes / 3);
  return static_cast<int64_t>(most - sizeof(Bin) * kMostPlanes);
}

// Staging reads the whole map; reading directly costs a sector or two for each row of each bin. A
// map of less than 4 MiB is in the L2 after its first use, and its planes are too small for a
// block each.
constexpr int64_t kLeastStaged = int64_t{1} << 20;
constexpr int64_t kMapPerOutput = 32;

int PlanesToStage(const Problem& p, size_t shared_bytes) {
  if (p.map_elements() < kLeastStaged || p.rois * p.channels() * kMapPerOutput < p.map_elements()) {
    return 0;
  }
  const int64_t bytes = static_cast<int64_t>(sizeof(float)) * (p.pixels() + 32);
  return static_cast<int>(
      std::min({StagedBytes(shared_bytes) / bytes, p.channels(), int64_t{kMostPlanes}}));
}

}  // namespace

mluOpStatus_t ForwardCuda(const Arguments& a, CudaContext& context) {
  const Problem p = MakeProblem(a);
  const Tensors t = {a.In<float>("input"), a.In<float>("rois"), a.Out<float>("output")};
  if (p.map_elements() == 0) {
    context.Zero(t.output, a.Tensor("output").ByteCount());
    return context.status();
  }
  const int planes = PlanesToStage(p, context.shared_bytes());
  if (planes == 0) {
    PoolDirect(p, t, context);
    return context.status();
  }
  const SpanTable table(p, context.Scratch(SpanTable::Bytes(p)));
  const int64_t spans = p.rois * (int64_t{p.pooled_h} + p.pooled_w);
  context.Launch(Prepare, Grid{CeilDiv(spans, kThreads), kThreads}, p, t.rois, table);
  const Cut cut = {planes, StrideOf(p)};
  // No more blocks than planes: below 2^31.
  context.Launch(
      PoolStaged,
      Grid{p.n * CeilDiv(p.channels(), planes), kThreads,
           sizeof(float) * static_cast<size_t>(planes) * static_cast<size_t>(cut.stride)},
      p, t, table, cut);
  return context.status();
}

}  // namespace mluop::torchvision_ps_roi_pool
