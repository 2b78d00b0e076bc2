// SPDX-License-Identifier: Apache-2.0
// psroipool forward on CUDA devices, large maps. The channels of a bin are G*G apart. A strided
// read costs a sector of 32 bytes per element, and an output has tens of them. A first kernel
// repacks the map in scratch to [slice of the output channels][bin][pixel][quad of them], at the
// cost of a copy; a second one gathers there with loads of 16 bytes.
#include <cuda_pipeline.h>

#include <algorithm>

#include "cuda/ptx.h"
#include "ops/psroipool/cuda/kernels.h"
#include "ops/psroipool/cuda/tuning.h"

namespace mluop::psroipool {
namespace {

constexpr int kThreads = 256;
// Minimum blocks per SM for __launch_bounds__; sm_75 has 1024 threads per SM.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBlocks = 4;
#else
constexpr int kBlocks = 5;
#endif

// The rows and columns of a bin, in one load. Rows are counted through all images, so that a row
// implies its image. Both spans are [0, 0) where the RoI is empty.
struct alignas(16) Bin {
  Span rows, columns;

  __device__ int32_t area() const { return rows.size() * columns.size(); }
};

// Bin `item` of [R, G, G]; fewer than 2^31.
__device__ Bin LoadBin(const Problem& p, const float* __restrict__ rois, unsigned item) {
  const auto bins = static_cast<unsigned>(p.bins()), group = static_cast<unsigned>(p.group);
  const Place place = PlaceRoi(p, rois + int64_t{item / bins} * 5);
  const unsigned bin = item % bins;
  return {place.MapRows(p, static_cast<int>(bin / group)),
          place.Columns(p, static_cast<int>(bin % group))};
}

// A quad is four output channels, one load. A bin has kLanes lanes, a slice at most as many quads.
constexpr int kChannelQuad = 4;
constexpr int kLanes = 8;

// A slice is repacked to [bin][pixel][quad].
struct Layout {
  int slices;
  int quads;   // of a slice
  int tile;    // pixels of a block that repacks, a power of two
  int stride;  // floats of such a pixel in shared memory
};

constexpr int kMaxTile = 8;
constexpr int64_t kTileBytes = 24 << 10;

Layout LayoutOf(const Problem& p) {
  const int64_t all = CeilDiv(p.output_dim, kChannelQuad), slices = CeilDiv(all, kLanes);
  const int64_t quads = CeilDiv(all, slices);
  const int64_t run = std::min<int64_t>(quads * kChannelQuad, p.output_dim) * p.bins();
  // The odd number of quads spreads pixels over the banks.
  const int64_t stride = (CeilDiv(run, kChannelQuad) | 1) * kChannelQuad;
  int tile = kMaxTile;
  while (tile > 1 && tile * stride * static_cast<int64_t>(sizeof(float)) > kTileBytes) tile /= 2;
  return {static_cast<int>(slices), static_cast<int>(quads), tile, static_cast<int>(stride)};
}

int64_t SliceQuads(const Problem& p, const Layout& layout) {
  return p.rows() * p.w * p.bins() * layout.quads;
}

struct Scratch {
  float4* repacked;
  Bin* bins;  // [R, G, G]
};

// A block repacks some pixels, in the output channels of a slice. At the end a thread owns a pixel
// and a quad, and writes one bin after the other.
__device__ void RepackTile(const Problem& p, const float* input, const Layout& layout,
                           unsigned block, float4* __restrict__ repacked) {
  float* const staged = DynamicShared<float>();  // [tile, stride]
  const int pixels = static_cast<int>(p.rows()) * p.w, bins = p.group * p.group;
  const auto slices = static_cast<unsigned>(layout.slices);
  const auto slice = static_cast<int>(block % slices);
  const int first_pixel = static_cast<int>(block / slices) * layout.tile;
  const int first_channel = slice * layout.quads * kChannelQuad;
  const int run = min(layout.quads * kChannelQuad, p.output_dim - first_channel) * bins;
  const int lanes = kThreads / layout.tile, copied = first_pixel + threadIdx.x / lanes;
  if (copied < pixels) {
    const float* from = input + copied * p.channels() + int64_t{first_channel} * bins;
    float* to = staged + threadIdx.x / lanes * layout.stride;
    for (int i = threadIdx.x % lanes; i < run; i += lanes) {
      __pipeline_memcpy_async(to + i, from + i, sizeof(float));
    }
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const int size = layout.tile * layout.quads, i = threadIdx.x % size;
  const int pixel = i / layout.quads, quad = i % layout.quads;
  if (threadIdx.x >= kThreads / size * size || first_pixel + pixel >= pixels) return;
  const float* from = staged + pixel * layout.stride + quad * kChannelQuad * bins;
  const int channels = p.output_dim - first_channel - quad * kChannelQuad;
  const int64_t plane = int64_t{pixels} * layout.quads;
  float4* to =
      repacked + slice * plane * bins + (first_pixel + pixel) * int64_t{layout.quads} + quad;
  for (int bin = threadIdx.x / size; bin < bins; bin += kThreads / size) {
    float4 value = {0, 0, 0, 0};
    if (channels > 0) value.x = from[bin];
    if (channels > 1) value.y = from[bins + bin];
    if (channels > 2) value.z = from[2 * bins + bin];
    if (channels > 3) value.w = from[3 * bins + bin];
    to[bin * plane] = value;
  }
}

// The last blocks write the bins.
__global__ void __launch_bounds__(kThreads, kBlocks)
    Repack(Problem p, Tensors t, Layout layout, unsigned tiles, Scratch scratch) {
  if (blockIdx.x < tiles) {
    RepackTile(p, t.input, layout, blockIdx.x, scratch.repacked);
  } else {
    const int64_t i = int64_t{blockIdx.x - tiles} * kThreads + threadIdx.x;
    if (i < p.rois * p.bins()) scratch.bins[i] = LoadBin(p, t.rois, static_cast<unsigned>(i));
  }
}

// kLanes threads own a bin of a RoI, a quad each. Neighbouring bins have similar sizes.
__global__ void __launch_bounds__(kThreads, kBlocks)
    Gather(Problem p, Tensors t, Layout layout, Scratch scratch) {
  const auto slices = static_cast<unsigned>(layout.slices);
  const auto slice = static_cast<int>(blockIdx.x % slices);
  const int64_t item = int64_t{blockIdx.x / slices} * (kThreads / kLanes) + threadIdx.x / kLanes;
  const int quad = threadIdx.x % kLanes;
  if (item >= p.rois * p.bins() || quad >= layout.quads) return;
  const int4 loaded = __ldg(reinterpret_cast<const int4*>(scratch.bins) + item);
  const Bin bin = {{loaded.x, loaded.y}, {loaded.z, loaded.w}};
  const int bins = p.group * p.group;
  const auto index = static_cast<int>(static_cast<unsigned>(item) % static_cast<unsigned>(bins));
  const int64_t pixels = p.rows() * p.w;
  const float4* plane =
      scratch.repacked + (int64_t{slice} * bins + index) * pixels * layout.quads + quad;
  const float4 sum = SumBin<kPixelGroup>(
      roi::Pixels<>(bin.rows, bin.columns, static_cast<unsigned>(p.w), layout.quads), plane);
  const auto area = static_cast<float>(max(bin.area(), 1));  // an empty sum is 0
  const float means[kChannelQuad] = {sum.x / area, sum.y / area, sum.z / area, sum.w / area};
  const int c = (slice * layout.quads + quad) * kChannelQuad;
  const int64_t first = item * p.output_dim + c;
#pragma unroll
  for (int i = 0; i < kChannelQuad; ++i) {
    if (c + i >= p.output_dim) break;
    t.output[first + i] = means[i];
    t.mapping[first + i] = (c + i) * bins + index;
  }
}

constexpr int64_t kStagedBytes = 48 << 10;  // available on every device without opt-in

size_t BinBytes(const Problem& p) {
  return AlignedBytes(static_cast<size_t>(p.rois * p.bins()) * sizeof(Bin));
}

}  // namespace

bool CanRepack(const Problem& p) {
  const bool small = p.map_elements() < kSmallLimit && p.rois * p.channels() < kSmallLimit;
  return small && p.group > 1 && p.output_dim >= kChannelQuad &&
         p.map_elements() >= kMinRepackElements && p.rois * kMaxMapPerOutput >= p.rows() * p.w &&
         LayoutOf(p).stride * static_cast<int64_t>(sizeof(float)) <= kStagedBytes;
}

size_t RepackedBytes(const Problem& p) {
  const Layout layout = LayoutOf(p);
  return BinBytes(p) + static_cast<size_t>(layout.slices * SliceQuads(p, layout)) * sizeof(float4);
}

mluOpStatus_t RunRepacked(const CudaCall<Problem>& call, void* memory) {
  const Problem& p = call.p;
  const Tensors t(call.arguments);
  const Layout layout = LayoutOf(p);
  auto* bytes = static_cast<char*>(memory);
  const Scratch scratch = {reinterpret_cast<float4*>(bytes + BinBytes(p)),
                           reinterpret_cast<Bin*>(bytes)};
  const size_t shared_bytes =
      sizeof(float) * static_cast<size_t>(layout.tile) * static_cast<size_t>(layout.stride);
  // No more blocks than elements of the map, nor of the output: below 2^31.
  const int64_t tiles = CeilDiv(p.rows() * p.w, layout.tile) * layout.slices;
  const int64_t bins = p.rois * p.bins();
  call.context.Launch(Repack, Grid{tiles + CeilDiv(bins, kThreads), kThreads, shared_bytes}, p, t,
                      layout, static_cast<unsigned>(tiles), scratch);
  call.context.Launch(Gather, Grid{CeilDiv(bins, kThreads / kLanes) * layout.slices, kThreads}, p,
                      t, layout, scratch);
  return call.context.status();
}

}  // namespace mluop::psroipool
