// SPDX-License-Identifier: Apache-2.0
// psroipool forward on CUDA devices: the implementation tables, and the implementation "strided" for
// NCHW maps, small maps and few RoIs, which reads elements in place. Large NCHW maps are staged
// (staged_planes.h).
#include <algorithm>

#include "cuda/transpose.h"
#include "ops/psroipool/cuda/kernels.h"
#include "ops/psroipool/cuda/tuning.h"
#include "ops/roi/cuda/pixels.h"
#include "ops/roi/cuda/staged_planes.h"

namespace mluop::psroipool {
namespace {

constexpr int kThreads = 512;
constexpr unsigned kWholeWarp = 0xffffffffu;

// RoI values loaded by the first warp. Lane 0 loads the x axis, lane 1 the y axis.
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
      place->image = placed ? roi::ImageOf(p.n, roi.batch) : -1;
      place->x = found;
    }
    if (threadIdx.x == 1) place->y = found;
  }
  __syncthreads();
}

// Keeps kLoads loads in flight: bins are small, and the latency of single loads would dominate. The
// number does not change the order of the sum.
template <int kLoads, typename Offset>
__device__ float SumPixels(roi::Pixels<Offset> pixels, const float* __restrict__ channel) {
  float sum = 0, part = 0;
// Not unrolled: small bins have few iterations, and larger code costs instruction fetches.
#pragma unroll 1
  for (int loaded = kLoads; pixels.any(); loaded += kLoads) {
    float values[kLoads];
    pixels.Load(channel, values);
#pragma unroll
    for (int i = 0; i < kLoads; i += kPixelGroup) {
      part += (values[i] + values[i + 1]) + (values[i + 2] + values[i + 3]);
    }
    if (loaded % kPartPixels != 0) continue;
    sum += part;
    part = 0;
  }
  return sum + part;
}

// Prefetches a small map to the L2, a line per thread. The loads overlap with the loads of the
// RoIs, which determine the bins.
constexpr int64_t kLineFloats = 32;
constexpr int64_t kMaxFetched = int64_t{1} << 20;
__device__ void PrefetchMap(const Problem& p, const float* input) {
  const int64_t first = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kLineFloats;
  if (first >= p.map_elements() || p.map_elements() > kMaxFetched) return;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(input + first));
}

// A block owns some elements of one RoI, a thread one element. Offset: see roi::Pixels.
template <bool kNchw, int kLoads, typename Offset>
__global__ void __launch_bounds__(kThreads) PoolStrided(Problem p, Tensors t, int slices) {
  using At = ElementLayout<kNchw>;
  __shared__ Place place;
  const int64_t r = blockIdx.x / static_cast<unsigned>(slices);
  const auto slice = static_cast<int>(blockIdx.x % static_cast<unsigned>(slices));
  Loaded roi;
  if (threadIdx.x < 32) roi.Load(t.rois + r * 5);
  PrefetchMap(p, t.input);
  const int64_t i = int64_t{slice} * blockDim.x + threadIdx.x;
  const bool exists = i < p.channels();
  const auto element = static_cast<unsigned>(exists ? i : 0);
  // The elements of a RoI are in the order of the output, which is that of the channels in NCHW.
  const auto bins = static_cast<unsigned>(p.bins()), depth = static_cast<unsigned>(p.output_dim);
  const unsigned bin = kNchw ? element % bins : element / depth;
  const auto channel = static_cast<int32_t>(kNchw ? element : p.Channel(bin, element % depth));
  if (exists) t.mapping[r * p.channels() + i] = channel;
  FindPlace(p, roi, &place);
  if (!exists) return;
  const auto group = static_cast<unsigned>(p.group);
  const Span rows = place.Rows(p, static_cast<int>(bin / group));
  const Span columns = place.Columns(p, static_cast<int>(bin % group));
  const float* from = t.input + At::Map(p, place.image < 0 ? 0 : place.image, 0, channel);
  using Count = typename roi::Pixels<Offset>::Count;
  const auto area = static_cast<float>(max(Count{rows.size()} * columns.size(), Count{1}));
  // The sum of an empty bin is 0.
  const roi::Pixels<Offset> pixels(rows, columns, static_cast<Offset>(p.w),
                                   static_cast<Offset>(At::PixelStep(p)));
  t.output[r * p.channels() + i] = SumPixels<kLoads>(pixels, from) / area;
}

template <bool kNchw, typename Offset>
mluOpStatus_t RunStrided(const CudaCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const auto threads =
      static_cast<int>(std::min<int64_t>(CeilDiv(p.channels(), 32) * 32, kThreads));
  const int64_t slices = CeilDiv(p.channels(), threads);
  // The grid has at most one block per 32 output elements or per RoI.
  // A bin is at most about H/G+1 rows high: three rows have few pixels.
  const auto kernel = p.h / p.group < 3 ? PoolStrided<kNchw, kPixelGroup, Offset>
                                        : PoolStrided<kNchw, 2 * kPixelGroup, Offset>;
  call.context.Launch(kernel, Grid{p.rois * slices, threads}, p, Tensors(call.arguments),
                      static_cast<int>(slices));
  return call.context.status();
}

bool HasSmallImages(const CudaCall<Problem>& call) {
  return int64_t{call.p.h} * call.p.w * call.p.channels() < kSmallLimit;
}

constexpr CudaImplementation<Problem> kForward[] = {
    {"repacked", "the map has 4 MiB or more, and at most 32 pixels per RoI",
     [](const CudaCall<Problem>& call) { return CanRepack(call.p); },
     [](const CudaCall<Problem>& call) { return RepackedBytes(call.p); }, RunRepacked},
    {"strided", "an image has fewer than 2^31 elements", HasSmallImages, nullptr,
     RunStrided<false, unsigned>},
    {"large", "always", Always, nullptr, RunStrided<false, unsigned long long>},
    CudaImplementation<Problem>::ForDouble(RunDoubleForward),
};

struct StagedPooling {
  const float* input;
  float* output;
  int32_t* mapping;

  static __device__ float Sum(const float* plane, Span rows, Span columns, int width) {
    return SumPixels<kPixelGroup>(roi::Pixels<>(rows, columns, static_cast<unsigned>(width), 1),
                                  plane);
  }
  __device__ void Write(int64_t i, int channel, float mean) const {
    output[i] = mean;
    mapping[i] = channel;
  }
};

roi::StagedMap StagedMapOf(const Problem& p) {
  return {p.n, p.channels(), p.h, p.w, p.group, p.group, p.rois};
}

mluOpStatus_t RunStaged(const CudaCall<Problem>& call, void* scratch) {
  const Tensors t(call.arguments);
  return roi::RunStaged(call.context, call.p, StagedMapOf(call.p), t.rois,
                        StagedPooling{t.input, t.output, t.mapping}, scratch);
}

// The pixels of a bin are neighbours, so they need no repacking.
constexpr CudaImplementation<Problem> kNchwForward[] = {
    {"staged", "4 MiB of map or more, at most 32 elements per output, a plane fits shared memory",
     [](const CudaCall<Problem>& call) {
       return IsSmall(call) && StagedMapOf(call.p).PlanesToStage(call.context.shared_bytes()) > 0;
     },
     [](const CudaCall<Problem>& call) { return roi::SpanTable::Bytes(StagedMapOf(call.p)); },
     RunStaged},
    {"strided", "an image has fewer than 2^31 elements", HasSmallImages, nullptr,
     RunStrided<true, unsigned>},
    {"large", "always", Always, nullptr, RunStrided<true, unsigned long long>},
    CudaImplementation<Problem>::ForDouble(RunOnNhwcCopies<kForwardCuda>, NhwcCopyBytes),
};

}  // namespace

constexpr CudaOperator kForwardCuda = Bind<MakeProblem, kForward>("psroipool_forward");
constexpr CudaOperator kNchwForwardCuda = Bind<MakeProblem, kNchwForward>("psroipool_nchw_forward");

}  // namespace mluop::psroipool
