// SPDX-License-Identifier: Apache-2.0
// border_align backward on CUDA devices, without atomics. All samples of an edge lie between the
// same two lines of the map, so the owner of a line visits two buckets of edges. A block owns a
// line's pixels; each of its warps handles 32 channels. It sums in shared memory, in the order of
// the lists, and writes every element once. Several blocks share a line with many edges
// (heavy_lines.h). The warps share the places of the samples. Limited by reading each gradient and
// index twice, the second time from L2, and by shared memory accesses.
#include <algorithm>

#include "cuda/ptx.h"
#include "ops/border_align/cuda/batches.h"
#include "ops/border_align/cuda/tuning.h"

namespace mluop::border_align {
namespace {

constexpr int kMaxWarps = 4;  // of a block
// Target occupancy in warps per SM, for __launch_bounds__.
constexpr int kResidentWarps = 12;
// Half a batch: loads of its gradients and indices are in flight while the other half is added.
constexpr int kHalf = kBatch / 2;

// Gradients and indices of half a batch, as loaded.
template <typename T>
struct LoadedGradients {
  T gradient[kHalf];
  int32_t index[kHalf];
};

// One lane's channel.
template <typename T>
struct Lane {
  const T* gradient;      // of box 0
  const int32_t* argmax;  // of box 0

  // kSecond: the second half.
  template <int kSecond>
  __device__ void Read(const Batch& batch, LoadedGradients<T>& visits) const {
    if (batch.count <= kSecond * kHalf) return;
    int offset[kHalf];
    LoadElements(batch.edges->offset + kSecond * kHalf, offset);
#pragma unroll
    for (int u = 0; u < kHalf; ++u) {
      visits.gradient[u] = __ldg(gradient + offset[u]);
      visits.index[u] = __ldg(argmax + offset[u]);
    }
  }

  template <int kSecond>
  __device__ void Add(const Batch& batch, const LoadedGradients<T>& visits,
                      const Shared& shared) const {
    if (batch.count <= kSecond * kHalf) return;
    Place place[kHalf];
    float weight[kHalf];
    LoadElements(batch.edges->weight + kSecond * kHalf, weight);
    const Place* row = batch.places + kSecond * kHalf * shared.row;
#pragma unroll
    for (int u = 0; u < kHalf; ++u, row += shared.row) {
      const uint32_t sample = static_cast<uint32_t>(visits.index[u]) - batch.begin;
      place[u] = row[min(sample, batch.samples)];
    }
    char* sums = reinterpret_cast<char*>(shared.sums + threadIdx.x % kWarpLanes);
#pragma unroll
    for (int u = 0; u < kHalf; ++u) {
      auto* low = reinterpret_cast<float*>(sums + place[u].low);
      const float part = AsReal(visits.gradient[u]) * weight[u];
      const float low_sum = fmaf(1.0f - place[u].above, part, low[0]);
      const float high_sum = fmaf(place[u].above, part, low[kWarpLanes]);
      low[0] = low_sum;
      low[kWarpLanes] = high_sum;
    }
  }
};

template <typename T>
__device__ void WriteSums(const BackwardCall<T>& call, const Owner& owner, const float* all) {
  if (owner.channel >= call.p.c) return;
  const Axes axes = MakeAxes(call.p, owner.border);
  T* to = call.grad_input + owner.image * call.p.pixels() * call.p.channels() +
          int64_t{owner.line} * axes.fixed_stride + int64_t{owner.first} * axes.moving_stride +
          owner.border * call.p.c + owner.channel;
  const float* sums = all + kWarpLanes + threadIdx.x % kWarpLanes;
  const int last = owner.pixels - 1;
#pragma unroll 4
  for (int i = 0; i < last; ++i) {
    __stcs(to + int64_t{i} * axes.moving_stride, static_cast<T>(sums[i * kWarpLanes]));
  }
  const bool end = owner.first + owner.pixels == owner.size;
  const float beyond = end ? sums[(last + 1) * kWarpLanes] : 0.0f;
  __stcs(to + int64_t{last} * axes.moving_stride, static_cast<T>(sums[last * kWarpLanes] + beyond));
}

// Adds the edges of a reader batch by batch. Meanwhile the places of the next batch are computed,
// and the loads of its gradients and indices are in flight.
template <typename T, int kWarps>
__device__ void AddEdges(const BackwardCall<T>& call, const Owner& owner, const Reader<T>& reader,
                         const Shared& shared) {
  // Lanes without a channel read the first one.
  const int64_t results = (int64_t{owner.image} * call.p.k * kBorders + owner.border) * call.p.c +
                          (owner.channel < call.p.c ? owner.channel : 0);
  const Lane<T> lane = {call.grad_output + results, call.argmax + results};
  Batches<T, kWarps> batches(call, owner, shared, reader);
  Batch now = {};
  LoadedGradients<T> first, second;
  bool more = true;
  while (more) {
    Batch next = {};
    more = batches.Next(next);
    lane.template Add<0>(now, first, shared);
    lane.template Read<0>(next, first);
    lane.template Add<1>(now, second, shared);
    lane.template Read<1>(next, second);
    now = next;
    __syncthreads();
  }
}

// Stores the sums of a chunk. The block that stores the last chunk of its line adds all of them, in
// their order, and returns true. Called by all threads of a block.
template <typename T>
__device__ bool AddChunks(const BackwardCall<T>& call, int64_t block, int chunks,
                          const Shared& shared) {
  // Without this the compiler keeps the result of the first FindWork in registers and spills.
  KeepInRegisters(block);
  const Work work = FindWork(call, block);
  const HeavyLines& heavy = call.heavy;
  const int list = work.owner.list(), index = work.owner.index;
  const int first_extra = work.chunk > 0
                              ? work.first_extra
                              : heavy.first_extra[int64_t{list} * heavy.lines + work.owner.line];
  const int lane = threadIdx.x % kWarpLanes, warp = threadIdx.x / kWarpLanes;
  const int begin = warp * call.sums() + lane;  // of the warp in an owner's sums
  const auto partial = [&](int chunk) {
    return heavy.Partial(list, first_extra, chunk, index) + begin;
  };
  float* sums = shared.sums + lane;
  const int end = (work.owner.pixels + 2) * kWarpLanes;
  float* own = partial(work.chunk);
  for (int i = 0; i < end; i += kWarpLanes) __stcg(own + i, sums[i]);
  __threadfence();
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    int32_t* counter = heavy.arrivals + heavy.Counter(list, first_extra, index);
    last = atomicAdd(counter, 1) == chunks - 1;
  }
  if (!__syncthreads_or(last)) return false;
  __threadfence();
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const float* from = partial(chunk);
#pragma unroll 16  // loads in flight
    for (int i = 0; i < end; i += kWarpLanes) {
      const float part = __ldcg(from + i);
      sums[i] = chunk == 0 ? part : sums[i] + part;
    }
  }
  return true;
}

template <typename T, int kWarps>
__global__ void __launch_bounds__(kWarps* kWarpLanes, kResidentWarps / kWarps)
    SumOwners(const __grid_constant__ BackwardCall<T> call) {
  const Shared shared = MakeShared(call);
  const int thread = threadIdx.x % kWarpLanes;
  for (int64_t i = blockIdx.x; i < call.blocks(); i += gridDim.x) {
    const Work work = FindWork(call, i);
    const Owner& owner = work.owner;
    if (owner.pixels == 0) continue;
    auto* sums = reinterpret_cast<float4*>(shared.sums);
    for (int s = thread; s < (owner.pixels + kExtraSums) * kWarpLanes / 4; s += kWarpLanes) {
      sums[s] = {0, 0, 0, 0};
    }
    __syncwarp();
    const Candidates candidates = FindCandidates(
        call.lists.offsets + int64_t{owner.list()} * (kBuckets + 2), owner.lines, owner.line);
    const int total = candidates.total();
    const Chunks chunks = DivideLine(total, call.p.k, owner.lines, call.heavy.divides());
    const int begin = min(work.chunk * chunks.edges, total);
    AddEdges<T, kWarps>(call, owner,
                        Reader<T>(call, owner, candidates, begin, min(begin + chunks.edges, total)),
                        shared);
    if (chunks.count == 1 || AddChunks(call, i, chunks.count, shared)) {
      WriteSums(call, owner, shared.sums);
    }
  }
}

template <typename T>
void Launch(const BackwardCall<T>& call, CudaContext& context) {
  const Grid grid = {call.blocks(), call.warps * kWarpLanes, SharedBytes(call)};
  switch (call.warps) {
    case 1: return context.Launch(SumOwners<T, 1>, grid, call);
    case 2: return context.Launch(SumOwners<T, 2>, grid, call);
    default: return context.Launch(SumOwners<T, 4>, grid, call);
  }
}

// Lines are divided only if the sums of their chunks need at most this many times the memory of a
// float map. On a map of 1x100000 pixels they would need 47 times as much.
constexpr size_t kMaxPartialMaps = 4;

// The pointers to scratch are not set.
Division Divide(const CudaCall<Problem>& c) {
  const Problem& p = c.p;
  Division division = {p,
                       kMaxWarps,
                       static_cast<int>(std::min<int64_t>(p.samples(), kMaxWindow)),
                       std::min(std::max(p.h, p.w), kMaxPixels),
                       {}};
  // At least two blocks per SM, so that one block adds while the other loads or stores.
  while (division.warps > 1 && (SharedBytes(division) > c.context.shared_bytes() / 2 ||
                                p.c <= division.warps / 2 * kWarpLanes)) {
    division.warps /= 2;
  }
  HeavyLines& heavy = division.heavy;
  heavy.lists = p.n * kBorders;
  heavy.lines = std::max(p.h, p.w);
  heavy.extras = std::max(MaxExtras(p.k, p.h), MaxExtras(p.k, p.w));
  heavy.owners = division.parts() * division.groups();
  heavy.owner_sums = int64_t{division.warps} * division.sums();
  if (heavy.Bytes() > kMaxPartialMaps * static_cast<size_t>(p.elements()) * sizeof(float)) {
    heavy.extras = 0;
  }
  return division;
}

size_t SortedBytes(const CudaCall<Problem>& c) {
  return AlignedBytes(ListsBytes(c)) + Divide(c).heavy.Bytes();
}

// Sorts the edges and sums all lines.
mluOpStatus_t RunSorted(const CudaCall<Problem>& c, void* scratch) {
  Division division = Divide(c);
  division.heavy.Place(static_cast<char*>(scratch) + AlignedBytes(ListsBytes(c)));
  const Lists lists = SortEdges(c, scratch, &division.heavy);
  return WithType(c, [&](auto element) {
    using T = decltype(element);
    const Arguments& a = c.arguments;
    Launch(BackwardCall<T>{division, a.In<T>("grad_output"), a.In<T>("boxes"),
                           a.In<int32_t>("argmax_idx"), a.Out<T>("grad_input"), lists},
           c.context);
  });
}

void DescribeSorted(const CudaCall<Problem>& c, Plan& plan) {
  const Division division = Divide(c);
  plan.Add("blocks %lld of %d warps", static_cast<long long>(division.blocks()), division.warps);
  plan.Add("edges per chunk at most %lld of a row, %lld of a column",
           static_cast<long long>(MaxChunk(c.p.k, c.p.h)),
           static_cast<long long>(MaxChunk(c.p.k, c.p.w)));
}

// Offsets between images are 64-bit. Offsets in a row of the map and in an image's results, and the
// numbers of owners and lists, are 32-bit.
bool FitsOwners(const CudaCall<Problem>& call) {
  const Problem& p = call.p;
  const int64_t lines = std::max(p.h, p.w), parts = CeilDiv(lines, kMaxPixels);
  return p.w * p.channels() < kSmallLimit && ResultElements(p) < kSmallLimit &&
         (lines + kMaxExtras) * parts < kSmallLimit / kBorders / p.n / CeilDiv(p.c, kWarpLanes);
}

using Entry = CudaImplementation<Problem>;
constexpr Entry kBackward[] = {
    {"sorted", "rows of the map and the results of an image have fewer than 2^31 elements",
     FitsOwners, SortedBytes, RunSorted, DescribeSorted},
    Entry::Beyond32Bits(Entry::Exclusive(
        {"large", "sorted does not apply", Always, LargeBackwardBytes, RunLargeBackward})),
    Entry::ForDouble(RunDoubleBackward),
};

}  // namespace

constexpr CudaOperator kBackwardCuda = Bind<MakeProblem, kBackward>("border_align_backward");

}  // namespace mluop::border_align
