// SPDX-License-Identifier: Apache-2.0
// Forward pooling of large NCHW maps on CUDA devices. A block stages some planes in shared memory
// and pools all RoIs from there: the map is read once, in whole sectors.
#pragma once

#include <cuda_pipeline.h>

#include <algorithm>
#include <string_view>

#include "cuda/for_each.h"
#include "cuda/pdl.h"
#include "cuda/ptx.h"
#include "ops/roi/span.h"

namespace mluop::roi {

// Staging reads the whole map. Reading in place costs one or two sectors per row of each bin. A map
// below 4 MiB is in the L2 after its first use, and its planes are too small to occupy a block.
// Staging takes 0.68x the time of torchvision_ps_roi_pool's "direct" on 3969x38x63 with 300 RoIs
// (NVIDIA H200).
inline constexpr int64_t kMinStaged = int64_t{1} << 20;
inline constexpr int64_t kMapPerOutput = 32;
// Planes of a block at a time. Small blocks reduce the tail effect.
inline constexpr int kMaxPlanes = 3;

inline constexpr std::string_view kStagedWhen =
    "4 MiB of map or more, at most 32 elements per output, a plane fits shared memory";

// Planes begin one bank apart: neighbouring threads read neighbouring planes at similar pixels. 32
// banks are 128 bytes.
MLUOP_HOST_DEVICE constexpr int PlaneStride(int pixels) { return pixels + (33 - pixels % 32) % 32; }

// Returns the planes that a block stages; 0 if reading in place is faster, or none fits. Three
// blocks fit an SM. Every device has 48 KiB. All tensors have fewer than 2^31 elements.
template <class Problem>
int PlanesToStage(const Problem& p, size_t shared_bytes) {
  const int64_t elements = p.map_elements();
  if (elements < kMinStaged || p.rois * p.channels() * kMapPerOutput < elements) return 0;
  const auto most = static_cast<int64_t>(std::max(size_t{48} << 10, shared_bytes / 3)) - 64;
  const int64_t bytes = static_cast<int64_t>(sizeof(float)) * (int64_t{p.h} * p.w + 32);
  return static_cast<int>(std::min({most / bytes, p.channels(), int64_t{kMaxPlanes}}));
}

template <class Problem>
bool ShouldStage(const CudaCall<Problem>& call) {
  return IsSmall(call) && PlanesToStage(call.p, call.context.shared_bytes()) > 0;
}

// The spans of all bins in scratch. They are computed once per call: every block visits every RoI.
struct SpanTable {
  int64_t rois, spans;
  Span* rows;     // [bins_h, R]
  Span* columns;  // [bins_w, R]

  template <class Problem>
  SpanTable(const Problem& p, void* scratch)
      : rois(p.rois),
        spans(p.rois * (int64_t{p.bins_h()} + p.bins_w())),
        rows(static_cast<Span*>(scratch)),
        columns(rows + p.bins_h() * p.rois) {}

  template <class Problem>
  static size_t Bytes(const CudaCall<Problem>& call) {
    return AlignedBytes(static_cast<size_t>(SpanTable(call.p, nullptr).spans) * sizeof(Span));
  }
};

#if defined(__CUDACC__)

inline constexpr int kStagedThreads = 256;
// Minimum blocks per SM (__launch_bounds__), so that some load while others pool. sm_75 has 1024
// threads per SM.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
inline constexpr int kStagedBlocks = 4;
#else
inline constexpr int kStagedBlocks = 6;
#endif

// A block owns `planes` neighbouring planes of one image. Each of its threads pools RoIs from one of
// these planes, one RoI at a time. Family: SumStaged(plane, rows, columns, width) adds a bin's pixels in the
// family's order; WriteChannel writes the mapping of element i of [R, C].
template <class Family>
__global__ void __launch_bounds__(kStagedThreads, kStagedBlocks)
    PoolStaged(Family family, SpanTable table, int most_planes) {
  float* const staged = DynamicShared<float>();  // [planes, stride]
  const auto height = static_cast<int>(family.p.h), width = static_cast<int>(family.p.w);
  const auto channels = static_cast<int>(family.p.channels());
  const int bins_h = family.p.bins_h(), bins_w = family.p.bins_w();
  const int pixels = height * width, stride = PlaneStride(pixels);
  const auto chunks = static_cast<unsigned>((channels - 1) / most_planes + 1);
  const auto image = static_cast<int>(blockIdx.x / chunks);
  const int first = static_cast<int>(blockIdx.x % chunks) * most_planes;
  const int planes = min(most_planes, channels - first);
  const float* source = family.t.input + (int64_t{image} * channels + first) * pixels;
  for (int plane = 0; plane < planes; ++plane, source += pixels) {
    for (int i = threadIdx.x; i < pixels; i += kStagedThreads) {
      __pipeline_memcpy_async(staged + plane * stride + i, source + i, sizeof(float));
    }
  }
  __pipeline_commit();
  const int rois_of_step = kStagedThreads / planes, used = rois_of_step * planes;
  const int plane = threadIdx.x % planes, channel = first + plane;
  const int bin = channel % (bins_h * bins_w), ph = bin / bins_w, pw = bin % bins_w;
  const int first_row = image * height;
  __pipeline_wait_prior(0);
  __syncthreads();
  WaitForPredecessor();  // for the table; the planes are inputs
  if (threadIdx.x >= used) return;
  for (int64_t r = threadIdx.x / planes; r < table.rois; r += rois_of_step) {
    Span rows = table.rows[ph * table.rois + r];
    const Span columns = table.columns[pw * table.rois + r];
    const int area = rows.size() * columns.size();
    // Empty bins may belong to no image, so the blocks of image 0 write them.
    if (area == 0 ? image > 0 : rows.begin < first_row || rows.begin >= first_row + height) {
      continue;
    }
    rows = {rows.begin - first_row, rows.end - first_row};
    const float sum = Family::SumStaged(staged + plane * stride, rows, columns, width);
    family.WriteChannel(r * channels + channel, channel);
    family.t.output[r * channels + channel] = area == 0 ? 0.0f : sum / static_cast<float>(area);
  }
}

// Pools all RoIs. scratch: SpanTable::Bytes
template <class Family, class Problem>
mluOpStatus_t RunStaged(const CudaCall<Problem>& call, void* scratch) {
  CudaContext& context = call.context;
  const Family family(call);
  const SpanTable table(call.p, scratch);
  // Fewer than 2^32 spans: R*bins is below 2^31.
  ForEach(context, table.spans, [=, p = call.p, rois = family.t.rois] __device__(int64_t i) {
    TriggerDependents();
    const auto item = static_cast<unsigned>(i), count = static_cast<unsigned>(table.rois);
    const auto bin = static_cast<int>(item / count);  // of the rows, then of the columns
    const auto place = PlaceRoi(p, rois + int64_t{item % count} * 5);
    table.rows[i] = bin < p.bins_h() ? place.MapRows(p, bin) : place.Columns(p, bin - p.bins_h());
  });
  const int planes = PlanesToStage(call.p, context.shared_bytes());
  // No more blocks than planes: below 2^31.
  const int stride = PlaneStride(static_cast<int>(call.p.h * call.p.w));
  const size_t bytes = sizeof(float) * static_cast<size_t>(planes) * static_cast<size_t>(stride);
  const Grid grid = {call.p.n * CeilDiv(call.p.channels(), planes), kStagedThreads, bytes,
                     /*pdl=*/true};
  context.Launch(PoolStaged<Family>, grid, family, table, planes);
  return context.status();
}

#endif  // __CUDACC__

}  // namespace mluop::roi
