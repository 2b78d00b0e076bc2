// SPDX-License-Identifier: Apache-2.0
// masked_col2im backward on CUDA devices: every element of grad_col is written once. Lanes have
// neighbouring masks, whose pixels lie in few sectors where masks are sorted.
#include <algorithm>

#include "ops/masked_im2col/cuda/operators.h"
#include "ops/masked_im2col/cuda/winners.h"

namespace mluop::masked_im2col {
namespace {

// Zeroes the table, 16 bytes at a time.
__device__ void ZeroShared(int32_t* table, int64_t count) {
  const auto whole = static_cast<int>(count / 4), all = static_cast<int>(count);
  for (int k = threadIdx.x; k < whole; k += blockDim.x)
    reinterpret_cast<int4*>(table)[k] = int4{0, 0, 0, 0};
  for (int k = whole * 4 + static_cast<int>(threadIdx.x); k < all; k += blockDim.x) table[k] = 0;
}

// The masks of a thread: kMasksPerThread/V groups of V, a block's threads apart. pixel is kOutside where there
// is no gradient.
template <int V>
struct Kept {
  static constexpr int kPacks = kMasksPerThread / V;
  uint32_t pixel[kPacks][V];

  static __device__ int Mask(int k) {
    return (k * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * V;
  }

  // All loads are on their way before the first is looked at.
  __device__ Kept(const Problem& p, const Masks& masks) {
    Pack<int32_t, V> h[kPacks], w[kPacks];
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      for (int32_t& row : h[k].at) row = -1;
      for (int32_t& column : w[k].at) column = -1;
      if (Mask(k) < p.masks) {
        h[k] = LoadPack<Pack<int32_t, V>>(masks.h + Mask(k));
        w[k] = LoadPack<Pack<int32_t, V>>(masks.w + Mask(k));
      }
    }
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
#pragma unroll
      for (int v = 0; v < V; ++v) pixel[k][v] = PixelOf(p, h[k].at[v], w[k].at[v]);
    }
  }

  // table: zeros. Afterwards the threads are together.
  __device__ void Enter(int32_t* table) const {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (pixel[k][v] != kOutside) atomicMax(table + pixel[k][v], Mask(k) + v + 1);
      }
    }
    __syncthreads();
  }

  __device__ void DropLosers(const int32_t* table) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (pixel[k][v] != kOutside && table[pixel[k][v]] != Mask(k) + v + 1)
          pixel[k][v] = kOutside;
      }
    }
  }
};

// The groups of a thread that belong to its block's part of the masks.
template <typename T, int V>
struct Values {
  Pack<T, V> packs[kMasksPerThread / V];

  __device__ Values(const Kept<V>& kept, const T* plane, int part, int parts) {
#pragma unroll
    for (int k = 0; k < kMasksPerThread / V; ++k) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const bool live = (k & (parts - 1)) == part && kept.pixel[k][v] != kOutside;
        packs[k].at[v] = live ? __ldg(plane + kept.pixel[k][v]) : T{0};
      }
    }
  }

  __device__ void Store(const Kept<V>& kept, int part, const Col2imParameters<T>& call,
                        int64_t channel) {
    T* const row = call.to + channel * call.p.masks;
#pragma unroll
    for (int k = 0; k < kMasksPerThread / V; ++k) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (kept.pixel[k][v] == kOutside) packs[k].at[v] = T{0};
      }
      if ((k & (call.parts - 1)) == part && kept.Mask(k) < call.p.masks)
        StorePack(packs[k], row + kept.Mask(k));
    }
  }
};

// The first channel's elements are on their way while the table is made, and the masks are read once:
// 0.90 of the time of reading them again when the table is there, 0.71 for half.
template <typename T, int V>
__global__ void __launch_bounds__(kGatherThreads, kGatherBlocksPerSm)
    GatherKept(Col2imParameters<T> call) {
  const Problem& p = call.p;
  int32_t* const table = SharedMemory<int32_t>();
  const int part = static_cast<int>(blockIdx.x % call.parts);
  Kept<V> kept(p, call.masks);
  ZeroShared(table, p.plane());
  int64_t channel = blockIdx.x / call.parts;
  Values<T, V> values(kept, call.from + channel * p.plane(), part, call.parts);
  __syncthreads();
  kept.Enter(table);
  kept.DropLosers(table);
  values.Store(kept, part, call, channel);
  for (channel += call.slices; channel < p.channels; channel += call.slices) {
    Values<T, V> next(kept, call.from + channel * p.plane(), part, call.parts);
    next.Store(kept, part, call, channel);
  }
}

// The pixels of kGroupsInFlight groups of V masks, `step` groups apart; kOutside where there is no gradient.
template <int V>
struct Pixels {
  uint32_t at[kGroupsInFlight][V];
};

template <int V>
__device__ Pixels<V> FindPixels(const Problem& p, const Masks& masks, const int32_t* winners,
                                int64_t group, int64_t step) {
  Pixels<V> pixels;
#pragma unroll
  for (int k = 0; k < kGroupsInFlight; ++k) {
    const int64_t first = (group + k * step) * V;
    int32_t h[V], w[V];
    for (int32_t& row : h) row = -1;
    if (first < p.masks) {
      LoadIntegers<V>(masks.h + first, h);
      LoadIntegers<V>(masks.w + first, w);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const uint32_t pixel = PixelOf(p, h[v], w[v]);
      const bool won = pixel != kOutside && __ldg(winners + pixel) == first + v + 1;
      pixels.at[k][v] = won ? pixel : kOutside;
    }
  }
  return pixels;
}

template <typename T, int V>
__global__ void __launch_bounds__(kGatherThreads, kGatherBlocksPerSm)
    GatherWinners(Col2imParameters<T> call) {
  const Problem& p = call.p;
  const int64_t groups = p.masks / V, step = int64_t{call.parts} * blockDim.x;
  const int64_t part = blockIdx.x % call.parts, slice = blockIdx.x / call.parts;
  for (int64_t g = part * blockDim.x + threadIdx.x; g < groups; g += kGroupsInFlight * step) {
    const Pixels<V> pixels = FindPixels<V>(p, call.masks, call.winners, g, step);
    for (int64_t channel = slice; channel < p.channels; channel += call.slices) {
      const T* const plane = call.from + channel * p.plane();
      T* const row = call.to + channel * p.masks;
      Pack<T, V> packs[kGroupsInFlight];
#pragma unroll
      for (int k = 0; k < kGroupsInFlight; ++k) {
#pragma unroll
        for (int v = 0; v < V; ++v)
          packs[k].at[v] = pixels.at[k][v] == kOutside ? T{0} : __ldg(plane + pixels.at[k][v]);
      }
#pragma unroll
      for (int k = 0; k < kGroupsInFlight; ++k) {
        if (g + k * step < groups) StorePack(packs[k], row + (g + k * step) * V);
      }
    }
  }
}

template <typename T, int V>
void LaunchStaged(Col2imParameters<T> c, CudaContext& context) {
  const int64_t groups = c.p.masks / V;
  const int64_t wanted = int64_t{context.sm_count()} * kGatherBlocksPerSm;
  const int threads = ThreadsFor(groups, kGatherThreads);
  const int64_t packs = CeilDiv(groups, threads);
  const auto most = static_cast<uint64_t>(std::min(wanted / c.p.channels, packs));
  c.parts = static_cast<int>(std::bit_floor(std::max<uint64_t>(most, 1)));
  // With many channels a block makes one table for several of them.
  c.slices = static_cast<int>(std::min<int64_t>(c.p.channels, wanted));
  const Grid grid = {int64_t{c.parts} * c.slices, threads, WinnersBytes(c.p)};
  context.Launch(GatherKept<T, V>, grid, c);
}

template <typename T, int V>
void LaunchTable(Col2imParameters<T> c, CudaContext& context) {
  const int64_t groups = c.p.masks / V;
  const int64_t wanted = int64_t{context.sm_count()} * kGatherBlocksPerSm;
  c.parts = static_cast<int>(CeilDiv(groups, kGatherThreads * kGroupsInFlight));
  c.slices = static_cast<int>(std::min<int64_t>(c.p.channels, CeilDiv(2 * wanted, c.parts)));
  context.Launch(GatherWinners<T, V>, {int64_t{c.parts} * c.slices, kGatherThreads}, c);
}

// Calls launch(parameters, V) with V masks to a store.
template <class Launch>
mluOpStatus_t Gather(const CudaCall<Problem>& call, const Launch& launch) {
  return WithBits(call, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kPair = 4 / sizeof(T);
    const Col2imParameters<T> c = {.p = call.p,
                                   .masks = MasksOf(call.arguments),
                                   .from = call.arguments.In<T>("grad_im"),
                                   .to = call.arguments.Out<T>("grad_col")};
    c.masks.HaveGroups(c.p.masks, kPair) && IsAligned(c.to, 4)
        ? launch(c, std::integral_constant<int, kPair>())
        : launch(c, std::integral_constant<int, 1>());
  });
}

bool FitsShared(const CudaCall<Problem>& call) {
  return WinnersBytes(call.p) <= kMostShared && call.p.masks <= kMasksPerThread * kGatherThreads;
}

mluOpStatus_t RunStaged(const CudaCall<Problem>& call, void* /*scratch*/) {
  return Gather(call, [&]<typename T>(const Col2imParameters<T>& c, auto V) {
    LaunchStaged<T, V>(c, call.context);
  });
}

mluOpStatus_t RunTable(const CudaCall<Problem>& call, void* scratch) {
  return Gather(call, [&]<typename T>(Col2imParameters<T> c, auto V) {
    c.winners = static_cast<int32_t*>(scratch);
    FillWinners(c.p, c.masks, call.context, c.winners);
    LaunchTable<T, V>(c, call.context);
  });
}

constexpr CudaImplementation<Problem> kCol2imBackward[] = {
    {"staged", "at most 4096 masks and 16384 pixels", FitsShared, nullptr, RunStaged},
    {"table", "always", Always, WinnersScratch, RunTable},
};

}  // namespace

constexpr CudaOperator kCol2imBackwardCuda =
    Bind<MakeProblem, kCol2imBackward>("masked_col2im_backward");

}  // namespace mluop::masked_im2col
