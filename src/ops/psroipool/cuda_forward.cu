// SPDX-License-Identifier: Apache-2.0
// psroipool forward on CUDA devices. The channels of a bin are G*G apart, so that each element read
// on its own costs a sector of 32 bytes. Small maps are read so all the same: they stay in the
// caches. Of a large map a block stages one output channel of one row of bins, G neighbouring
// channels of every pixel, in shared memory and pools all rois from there: the map is read once.
#include <cuda_pipeline.h>

#include <algorithm>

#include "ops/psroipool/cuda.h"

namespace mluop::psroipool {
namespace {

constexpr int kThreads = 512;
// To a processor, so that some load while others pool; the registers follow from it. sm_75 has
// threads for two.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBlocks = 2;
#else
constexpr int kBlocks = 3;
#endif
constexpr unsigned kWholeWarp = 0xffffffffu;

struct Tensors {
  const float* input;  // [N, H, W, C]
  const float* rois;   // [R, 5]
  float* output;       // [R, G, G, output_dim]
  int32_t* mapping;    // as output
};

// Where a roi's bins lie.
struct Place {
  int32_t image;  // -1 where the roi is empty
  Axis x, y;
};

// Threads 0 and 1 work out an axis each. Ends with a barrier.
__device__ void FindPlace(const Problem& p, const float* __restrict__ roi, Place* place) {
  if (threadIdx.x < 32) {
    const int axis = threadIdx.x & 1;
    const float batch = roi[0];
    Axis found;
    const bool finite = MakeAxis(p, roi[1 + axis], roi[3 + axis], &found);
    const bool placed = __all_sync(kWholeWarp, finite);
    if (threadIdx.x == 0) {
      place->image = placed ? ImageOf(p, batch) : -1;
      place->x = found;
    }
    if (threadIdx.x == 1) place->y = found;
  }
  __syncthreads();
}

// The pixels first, first+kStep, ... of a bin, row by row. Offsets are within an image, below 2^31
// elements; those past the bin's end may wrap, and nobody reads there.
template <int kStep>
class Pixels {
 public:
  __device__ Pixels(const Problem& p, Span rows, Span columns, int first)
      : columns_(columns.end - columns.begin), left_((rows.end - rows.begin) * columns_ - first) {
    if (left_ <= 0) return;
    const auto pixel = static_cast<unsigned>(p.channels()), row = pixel * p.w;  // strides
    column_ = first % columns_;
    columns_of_step_ = kStep % columns_;
    offset_ = (rows.begin + first / columns_) * row + (columns.begin + column_) * pixel;
    step_ = kStep / columns_ * row + columns_of_step_ * pixel;
    row_change_ = row - columns_ * pixel;
  }
  __device__ bool any() const { return left_ > 0; }
  __device__ unsigned offset() const { return offset_; }
  __device__ void Next() {
    left_ -= kStep;
    offset_ += step_;
    column_ += columns_of_step_;
    if (column_ < columns_) return;
    column_ -= columns_;
    offset_ += row_change_;
  }

 private:
  int columns_, left_;
  int column_ = 0, columns_of_step_ = 0;
  unsigned offset_ = 0, step_ = 0, row_change_ = 0;
};

// Loads under way at a time: bins are small, and a wait for each pixel would be the whole time.
constexpr int kLoads = 8;

// Sums of kLoads, then of those: no chain of additions is long.
template <int kStep>
__device__ float SumPixels(Pixels<kStep> pixels, const float* __restrict__ channel) {
  float sum = 0;
  while (pixels.any()) {
    float values[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      values[i] = pixels.any() ? channel[pixels.offset()] : 0.0f;
      pixels.Next();
    }
#pragma unroll
    for (int half = kLoads / 2; half > 0; half /= 2) {
#pragma unroll
      for (int i = 0; i < half; ++i) values[i] += values[i + half];
    }
    sum += values[0];
  }
  return sum;
}

// A block has some elements of one roi, kParts lanes an element: a warp's elements are neighbours
// in memory, and the lanes of an element 32/kParts apart.
template <int kParts>
__global__ void __launch_bounds__(kThreads) PoolDirectly(Problem p, Tensors t, int slices) {
  constexpr int kElements = 32 / kParts;  // of a warp
  __shared__ Place place;
  const int64_t r = blockIdx.x / static_cast<unsigned>(slices);
  const int slice = static_cast<int>(blockIdx.x % static_cast<unsigned>(slices));
  FindPlace(p, t.rois + r * 5, &place);
  const int lane = threadIdx.x % 32, part = lane / kElements;
  const int64_t i =
      int64_t{slice} * (blockDim.x / kParts) + threadIdx.x / 32 * kElements + lane % kElements;
  const bool exists = i < p.channels();
  const auto element = static_cast<unsigned>(exists ? i : 0);
  const unsigned bin = element / static_cast<unsigned>(p.output_dim);
  const unsigned c = element % static_cast<unsigned>(p.output_dim);
  const auto channel = static_cast<int32_t>(p.Channel(bin, c));
  float sum = 0, area = 0;
  if (exists && place.image >= 0) {
    const auto group = static_cast<unsigned>(p.group);
    const Span rows = BinSpan(place.y, static_cast<int>(bin / group), p.h);
    const Span columns = BinSpan(place.x, static_cast<int>(bin % group), p.w);
    const float* image = t.input + int64_t{place.image} * p.h * p.w * p.channels();
    area = static_cast<float>(rows.size() * columns.size());
    sum = SumPixels(Pixels<kParts>(p, rows, columns, part), image + channel);
  }
#pragma unroll
  for (int distance = 16; distance >= kElements; distance /= 2) {
    sum += __shfl_xor_sync(kWholeWarp, sum, distance);
  }
  if (!exists || part != 0) return;
  t.output[r * p.channels() + i] = area == 0 ? 0.0f : sum / area;
  t.mapping[r * p.channels() + i] = channel;
}

template <int kParts>
void LaunchDirect(const Problem& p, const Tensors& t, CudaContext& context) {
  const int64_t lanes = CeilDiv(p.channels() * kParts, 32) * 32;
  const int threads = static_cast<int>(std::min<int64_t>(lanes, kThreads));
  const int64_t slices = CeilDiv(lanes, threads);
  // At most one block for 64 elements of the output, or for a roi: below 2^31.
  context.Launch(PoolDirectly<kParts>, Grid{p.rois * slices, threads}, p, t,
                 static_cast<int>(slices));
}

// As many lanes to a bin as find pixels of their own: a bin is at most about H/G+1 rows high.
void PoolDirect(const Problem& p, const Tensors& t, CudaContext& context) {
  const int rows = p.h / p.group + 1;
  if (rows <= 3) {
    LaunchDirect<1>(p, t, context);
  } else if (rows <= 8) {
    LaunchDirect<2>(p, t, context);
  } else {
    LaunchDirect<8>(p, t, context);
  }
}

// The spans, and the mapping, which neighbouring threads write to neighbouring elements.
__global__ void __launch_bounds__(kThreads) Prepare(Problem p, Tensors t, SpanTable table) {
  WriteSpans(p, t.rois, table);
  const auto output_dim = static_cast<unsigned>(p.output_dim);
  const auto bins = static_cast<unsigned>(p.bins());
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < p.rois * p.channels();
       i += step) {
    const auto element = static_cast<unsigned>(i);  // of an output below 2^31 elements
    t.mapping[i] = static_cast<int32_t>(element % output_dim * bins + element / output_dim % bins);
  }
}

// What is staged: `planes` bins of a row of bins, or fewer in the last part of the row.
struct Cut {
  int planes;
  int parts;  // of a row of bins
};
constexpr int kMostPlanes = 32;

// The row sums of a bin, then their sum. plane: that of the bin, `stride` between pixels
__device__ float SumStaged(const float* plane, Range rows, Range columns, int width, int stride) {
  float sum = 0;
  const float* row = plane + (rows.begin * width + columns.begin) * stride;
  for (int h = rows.size(); h > 0; --h, row += width * stride) {
    float row_sum = 0;
    const float* pixel = row;
    for (int w = columns.size(); w > 0; --w, pixel += stride) row_sum += *pixel;
    sum += row_sum;
  }
  return sum;
}

// A block has one image, one output channel and some bins of a row of them.
__global__ void __launch_bounds__(kThreads, kBlocks)
    PoolStaged(Problem p, Tensors t, SpanTable table, Cut cut) {
  extern __shared__ float staged[];  // [H, W, planes]
  unsigned block = blockIdx.x;
  const auto part = static_cast<int>(block % static_cast<unsigned>(cut.parts));
  block /= static_cast<unsigned>(cut.parts);
  const auto ph = static_cast<int>(block % static_cast<unsigned>(p.group));
  block /= static_cast<unsigned>(p.group);
  const auto c = static_cast<int>(block % static_cast<unsigned>(p.output_dim));
  const auto image = static_cast<int>(block / static_cast<unsigned>(p.output_dim));
  const int first = part * cut.planes, planes = min(cut.planes, p.group - first);
  const int pixels = p.h * p.w, channels = static_cast<int>(p.channels());
  const float* source =
      t.input + int64_t{image} * pixels * channels + p.Channel(ph * p.group + first, c);
  const int plane = threadIdx.x % planes, step = kThreads / planes;
  const int start = threadIdx.x / planes;  // the step's last threads have nothing to do
  for (int i = start < step ? start : pixels; i < pixels; i += step) {
    __pipeline_memcpy_async(staged + i * planes + plane, source + i * channels + plane,
                            sizeof(float));
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const int first_row = image * p.h;
  if (start >= step) return;
  for (int64_t r = start; r < p.rois; r += step) {
    Range rows = table.rows[r * p.group + ph];
    const Range columns = table.columns[r * p.group + first + plane];
    const int area = rows.size() * columns.size();
    // An empty bin may be on no image: the first one's block writes it.
    if (area == 0 ? image > 0 : rows.begin < first_row || rows.begin >= first_row + p.h) continue;
    rows = {rows.begin - first_row, rows.end - first_row};
    const float sum = SumStaged(staged + plane, rows, columns, p.w, planes);
    t.output[((r * p.group + ph) * p.group + first + plane) * p.output_dim + c] =
        area == 0 ? 0.0f : sum / static_cast<float>(area);
  }
}

// Shared memory of a block: kBlocks of them fit, and 48 KiB are everywhere.
int StagedBytes() {
  int device = 0, most = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  return std::max(48 << 10, most / 3);
}

// Staging reads the whole map, each sector about twice; reading directly costs a sector for each of
// the pixels of each output, of which there are tens on a large map. A map of less than 4 MiB is
// in the L2 after its first use, and its planes are too small for a block each.
constexpr int64_t kLeastStaged = int64_t{1} << 20;
constexpr int64_t kMapPerOutput = 32;

bool IsWorthStaging(const Problem& p) {
  return p.group > 1 && p.map_elements() >= kLeastStaged &&
         p.rois * p.channels() * kMapPerOutput >= p.map_elements();
}

}  // namespace

size_t ForwardScratchCuda(const Problem& p) { return IsWorthStaging(p) ? SpanTable::Bytes(p) : 0; }

mluOpStatus_t ForwardCuda(const Arguments& a, CudaContext& context) {
  const Problem p = MakeProblem(a, a.Float("spatial_scale"));
  const Tensors t = {a.In<float>("input"), a.In<float>("rois"), a.Out<float>("output"),
                     a.Out<int32_t>("mapping_channel")};
  const int64_t plane = int64_t{p.h} * p.w * static_cast<int64_t>(sizeof(float));
  const int64_t fitting =
      IsWorthStaging(p) ? std::min<int64_t>(StagedBytes() / plane, kMostPlanes) : 0;
  if (fitting == 0) {
    PoolDirect(p, t, context);
    return context.status();
  }
  const SpanTable table(p, context.Scratch(SpanTable::Bytes(p)));
  const auto parts = static_cast<int>(CeilDiv(p.group, fitting));
  const Cut cut = {static_cast<int>(CeilDiv(p.group, parts)), parts};
  const int64_t enough = int64_t{4} * context.processors();  // blocks that fill the device
  const int64_t blocks = std::min(CeilDiv(p.rois * p.channels(), kThreads), enough);
  context.Launch(Prepare, Grid{blocks, kThreads}, p, t, table);
  // No more blocks than channels in all images: below 2^31.
  context.Launch(PoolStaged,
                 Grid{int64_t{p.n} * p.output_dim * p.group * cut.parts, kThreads,
                      static_cast<size_t>(plane * cut.planes)},
                 p, t, table, cut);
  return context.status();
}

}  // namespace mluop::psroipool
