// SPDX-License-Identifier: Apache-2.0
// psroipool forward on CUDA devices: which way a call goes, and the way of small maps and of few
// rois: elements are read where they are.
#include <algorithm>

#include "ops/psroipool/cuda/kernels.h"

namespace mluop::psroipool {
namespace {

constexpr int kThreads = 512;
constexpr unsigned kWholeWarp = 0xffffffffu;

// What the first warp's lanes read of a roi: lanes 0 and 1 have an axis each.
struct Loaded {
  float batch = 0, first = 0, last = 0;

  __device__ void Load(const float* __restrict__ roi) {
    const int axis = threadIdx.x & 1;
    batch = __ldg(roi);
    first = __ldg(roi + 1 + axis);
    last = __ldg(roi + 3 + axis);
  }
};

// Ends with a barrier.
__device__ void FindPlace(const Problem& p, const Loaded& roi, Place* place) {
  if (threadIdx.x < 32) {
    Axis found;
    const bool finite = MakeAxis(p, roi.first, roi.last, &found);
    const bool placed = __all_sync(kWholeWarp, finite);
    if (threadIdx.x == 0) {
      const int32_t image = placed ? ImageOf(p, roi.batch) : -1;
      place->first_row = image < 0 ? -1 : image * p.h;
      place->x = found;
    }
    if (threadIdx.x == 1) place->y = found;
  }
  __syncthreads();
}

// Of every kStep'th row of a bin from `first` on the pixels, row by row. Offsets are within an
// image, below 2^31 elements; those past the bin's end may wrap, and nobody reads there.
template <int kStep>
class Pixels {
 public:
  __device__ Pixels(const Problem& p, Span rows, Span columns, int first)
      : columns_(columns.end - columns.begin),
        left_(max(rows.end - rows.begin - first + kStep - 1, 0) / kStep * columns_),
        pixel_(static_cast<unsigned>(p.channels())),
        offset_((rows.begin + first) * pixel_ * p.w + columns.begin * pixel_),
        row_change_((kStep * p.w - columns_) * pixel_) {}
  __device__ bool any() const { return left_ > 0; }
  __device__ unsigned offset() const { return offset_; }
  __device__ void Next() {
    --left_;
    offset_ += pixel_;
    if (++column_ < columns_) return;
    column_ = 0;
    offset_ += row_change_;
  }

 private:
  int columns_, left_, column_ = 0;
  unsigned pixel_, offset_, row_change_;
};

// Loads under way at a time: bins are small, and a wait for each pixel would be the whole time.
constexpr int kLoads = 4;

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

// Starts to move a small map to the L2, a line a thread: where bins lie is known only after the
// rois have come, and the map is needed then.
constexpr int64_t kLineFloats = 32;
constexpr int64_t kMostFetched = int64_t{1} << 20;
__device__ void FetchMap(const Problem& p, const float* input) {
  const int64_t first = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kLineFloats;
  if (first >= p.map_elements() || p.map_elements() > kMostFetched) return;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(input + first));
}

// A block has some elements of one roi, kParts lanes an element: a warp's elements are neighbours
// in memory, and the lanes of an element 32/kParts apart.
template <int kParts>
__global__ void __launch_bounds__(kThreads) PoolDirectly(Problem p, Tensors t, int slices) {
  constexpr int kElements = 32 / kParts;  // of a warp
  __shared__ Place place;
  const int64_t r = blockIdx.x / static_cast<unsigned>(slices);
  const int slice = static_cast<int>(blockIdx.x % static_cast<unsigned>(slices));
  Loaded roi;
  if (threadIdx.x < 32) roi.Load(t.rois + r * 5);
  FetchMap(p, t.input);
  const int lane = threadIdx.x % 32, part = lane / kElements;
  const int64_t i =
      int64_t{slice} * (blockDim.x / kParts) + threadIdx.x / 32 * kElements + lane % kElements;
  const bool exists = i < p.channels();
  const auto element = static_cast<unsigned>(exists ? i : 0);
  const unsigned bin = element / static_cast<unsigned>(p.output_dim);
  const unsigned c = element % static_cast<unsigned>(p.output_dim);
  const auto channel = static_cast<int32_t>(p.Channel(bin, c));
  if (exists && part == 0) t.mapping[r * p.channels() + i] = channel;
  FindPlace(p, roi, &place);
  float sum = 0, area = 0;
  if (exists && place.first_row >= 0) {
    const auto group = static_cast<unsigned>(p.group);
    const Span rows = BinSpan(place.y, static_cast<int>(bin / group), p.h);
    const Span columns = BinSpan(place.x, static_cast<int>(bin % group), p.w);
    const float* image = t.input + int64_t{place.first_row} * p.w * p.channels();
    area = static_cast<float>(rows.size() * columns.size());
    sum = SumPixels(Pixels<kParts>(p, rows, columns, part), image + channel);
  }
#pragma unroll
  for (int distance = 16; distance >= kElements; distance /= 2) {
    sum += __shfl_xor_sync(kWholeWarp, sum, distance);
  }
  if (!exists || part != 0) return;
  t.output[r * p.channels() + i] = area == 0 ? 0.0f : sum / area;
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

// Regrouping reads the whole map; reading directly costs a sector for each of the pixels of each
// output, of which there are tens on a large map. A map of less than 4 MiB is in the L2 after its
// first use.
constexpr int64_t kLeastRegrouped = int64_t{1} << 20;
constexpr int64_t kMapPerOutput = 32;

bool IsWorthRegrouping(const Problem& p) {
  return p.group > 1 && p.output_dim >= 4 && p.map_elements() >= kLeastRegrouped &&
         p.rois * kMapPerOutput >= p.rows() * p.w && FitsRegrouping(p);
}

}  // namespace

size_t ForwardScratchCuda(const Problem& p) { return IsWorthRegrouping(p) ? RegroupedBytes(p) : 0; }

mluOpStatus_t ForwardCuda(const Arguments& a, CudaContext& context) {
  const Problem p = MakeProblem(a, a.Float("spatial_scale"));
  const Tensors t = {a.In<float>("input"), a.In<float>("rois"), a.Out<float>("output"),
                     a.Out<int32_t>("mapping_channel")};
  if (IsWorthRegrouping(p)) {
    PoolRegrouped(p, t, context);
  } else {
    PoolDirect(p, t, context);
  }
  return context.status();
}

}  // namespace mluop::psroipool
