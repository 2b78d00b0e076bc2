// SPDX-License-Identifier: Apache-2.0
// masked_col2im backward on CUDA devices: every element of grad_col is written once. Lanes of a warp have
// neighbouring masks, whose pixels are in few sectors where masks are sorted. In "staged" every block
// makes the table of winners in shared memory; "table" makes it in scratch, with two extra
// launches.
#include <algorithm>
#include <bit>

#include "ops/masked_im2col/cuda/winners.h"

namespace mluop::masked_im2col {
namespace {

// grad_im [C, H*W] is read, grad_col [C, M] written.
template <typename T>
struct GatherParameters {
  Problem p;
  Masks masks;
  const T* from;
  T* to;
  int parts;   // of the masks, for different blocks; a power of two
  int slices;  // of the channels, for different blocks
};

// The masks of a thread: kMasksPerThread/V groups of V masks, a stride of blockDim.x groups apart.
// `pixel` is kOutside for masks without a gradient.
template <int V>
struct ThreadPixels {
  uint32_t pixel[kMasksPerThread];

  static __device__ int Mask(int k) {
    return (k / V * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * V + k % V;
  }

  // Issues all loads before the first value is used.
  __device__ ThreadPixels(const Problem& p, const Masks& masks) {
    int32_t h[kMasksPerThread / V][V], w[kMasksPerThread / V][V];
#pragma unroll
    for (int k = 0; k < kMasksPerThread; k += V) {
      if (Mask(k) >= p.masks) continue;
      LoadElements(masks.h + Mask(k), h[k / V]);
      LoadElements(masks.w + Mask(k), w[k / V]);
    }
#pragma unroll
    for (int k = 0; k < kMasksPerThread; ++k) {
      pixel[k] = Mask(k) < p.masks ? PixelOf(p, h[k / V][k % V], w[k / V][k % V]) : kOutside;
    }
  }

  // `table` must be zero. Ends with __syncthreads.
  __device__ void UpdateTable(int32_t* table) const {
#pragma unroll
    for (int k = 0; k < kMasksPerThread; ++k) {
      if (pixel[k] != kOutside) atomicMax(table + pixel[k], Mask(k) + 1);
    }
    __syncthreads();
  }

  __device__ void MaskOutOverwritten(const int32_t* table) {
#pragma unroll
    for (int k = 0; k < kMasksPerThread; ++k) {
      if (pixel[k] != kOutside && table[pixel[k]] != Mask(k) + 1) pixel[k] = kOutside;
    }
  }
};

// The groups of a thread that belong to its block's part of the masks.
template <typename T, int V>
struct Values {
  T values[kMasksPerThread];

  __device__ Values(const ThreadPixels<V>& kept, const T* plane, int part, int parts) {
#pragma unroll
    for (int k = 0; k < kMasksPerThread; ++k) {
      const bool live = (k / V & (parts - 1)) == part && kept.pixel[k] != kOutside;
      values[k] = live ? __ldg(plane + kept.pixel[k]) : T{0};
    }
  }

  __device__ void Store(const ThreadPixels<V>& kept, int part, const GatherParameters<T>& call,
                        int64_t channel) const {
    T* const row = call.to + channel * call.p.masks;
#pragma unroll
    for (int k = 0; k < kMasksPerThread; k += V) {
      Pack<T, V> pack;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        pack.at[v] = kept.pixel[k + v] == kOutside ? T{0} : values[k + v];
      }
      if ((k / V & (call.parts - 1)) == part && kept.Mask(k) < call.p.masks)
        StorePack(pack, row + kept.Mask(k));
    }
  }
};

// The first channel's elements are loaded while the table is made, and the masks are read once.
// This takes 0.90x the time of rereading them after the table is built (half: 0.71x).
template <typename T, int V>
__global__ void __launch_bounds__(kGatherThreads, kGatherBlocksPerSm)
    GatherThreadPixels(GatherParameters<T> call) {
  const Problem& p = call.p;
  int32_t* const table = DynamicShared<int32_t>();
  const int part = static_cast<int>(blockIdx.x % call.parts);
  ThreadPixels<V> kept(p, call.masks);
  ZeroTable(table, p.plane());
  int64_t channel = blockIdx.x / call.parts;
  Values<T, V> values(kept, call.from + channel * p.plane(), part, call.parts);
  __syncthreads();
  kept.UpdateTable(table);
  kept.MaskOutOverwritten(table);
  values.Store(kept, part, call, channel);
  for (channel += call.slices; channel < p.channels; channel += call.slices) {
    Values<T, V> next(kept, call.from + channel * p.plane(), part, call.parts);
    next.Store(kept, part, call, channel);
  }
}

template <typename T, int V>
void LaunchStaged(GatherParameters<T> c, CudaContext& context) {
  const int64_t groups = c.p.masks / V;
  const int64_t wanted = int64_t{context.sm_count()} * kGatherBlocksPerSm;
  const int threads = ThreadsFor(groups, kGatherThreads);
  const int64_t packs = CeilDiv(groups, threads);
  const auto most = static_cast<uint64_t>(std::min(wanted / c.p.channels, packs));
  c.parts = static_cast<int>(std::bit_floor(std::max<uint64_t>(most, 1)));
  // With many channels a block makes one table for several of them.
  c.slices = static_cast<int>(std::min<int64_t>(c.p.channels, wanted));
  const auto table_bytes = static_cast<size_t>(CeilDiv(c.p.plane(), 4)) * sizeof(int4);
  const Grid grid = {int64_t{c.parts} * c.slices, threads, table_bytes};
  context.Launch(GatherThreadPixels<T, V>, grid, c);
}

bool FitsShared(const CudaCall<Problem>& call) {
  return WinnersBytes(call.p) <= kMaxShared && call.p.masks <= kMasksPerThread * kGatherThreads;
}

mluOpStatus_t RunStaged(const CudaCall<Problem>& call, void* /*scratch*/) {
  const Arguments& a = call.arguments;
  return WithBits(call, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kPair = 4 / sizeof(T);
    const GatherParameters<T> g = {call.p, MasksOf(a), a.In<T>("grad_im"), a.Out<T>("grad_col"),
                                   1,      1};
    g.masks.CanVectorize(g.p.masks, kPair) && IsAligned(g.to, 4)
        ? LaunchStaged<T, kPair>(g, call.context)
        : LaunchStaged<T, 1>(g, call.context);
  });
}

mluOpStatus_t RunTable(const CudaCall<Problem>& call, void* scratch) {
  const Problem p = call.p;
  const Masks masks = MasksOf(call.arguments);
  auto* const winners = static_cast<int32_t*>(scratch);
  const auto pixel_of_mask = [=] __device__(int64_t m) -> int64_t {
    const int64_t pixel = p.Offset(__ldg(masks.h + m), __ldg(masks.w + m));
    return pixel >= 0 && winners[pixel] == m + 1 ? pixel : -1;
  };
  return CopyByTable(call, winners, pixel_of_mask, {"grad_im", p.plane()}, {"grad_col", p.masks});
}

constexpr CudaImplementation<Problem> kCol2imBackward[] = {
    {"staged", "at most 4096 masks and 16384 pixels", FitsShared, nullptr, RunStaged},
    {"table", "always", Always, WinnersScratch, RunTable},
    CudaImplementation<Problem>::ForDouble(RunTable, WinnersScratch),
};

}  // namespace

constexpr CudaOperator kCol2imBackwardCuda =
    Bind<MakeProblem, kCol2imBackward>("masked_col2im_backward");

}  // namespace mluop::masked_im2col
