// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on CUDA devices. Threads read the channels of the voxels, skip elements that
// name no point, and add the others to the points' sums. Sparse scenes are limited by reading
// argmax or the sectors of the counts, dense scenes by the additions.
#include <algorithm>
#include <bit>
#include <cinttypes>

#include "cuda/for_each.h"
#include "ops/roiaware_pool3d/cuda/average.h"
#include "ops/roiaware_pool3d/cuda/scatter.h"

namespace mluop::roiaware_pool3d {
namespace {

using BackwardCall = CudaCall<Problem>;

size_t SumBytes(const Problem& p, size_t element) {
  return static_cast<size_t>(int64_t{p.points} * p.channels) * element;
}

// Tiles of AddAverage, and a flag for each: whether it is sorted.
int64_t AverageTiles(const Problem& p) { return CeilDiv(p.voxels(), kThreads); }
size_t DenseBytes(const Problem& p) {
  return p.method == kAverage ? AlignedBytes(static_cast<size_t>(AverageTiles(p))) : 0;
}
// Tiles of AddAverage with at least this many pairs are sorted. With as many, `tile` has half as
// many pairs as there are points. 0: none is sorted.
int64_t DensePairs(const Problem& p, const Tile& tile) {
  if (tile.pairs == 0) return 0;
  return std::max<int64_t>(int64_t{p.points} / 2 * kThreads / tile.voxels, 1);
}

// Scratch of IntegerSums: sums and marks, which are zeroed; then maxima and found_shift.
struct IntegerLayout {
  size_t marks, maxima, bytes;

  explicit IntegerLayout(const Problem& p) {
    marks = AlignedBytes(SumBytes(p, sizeof(long long)));
    const int64_t words = CeilDiv(int64_t{p.points} * p.channels, IntegerSums::kMarks);
    maxima = marks + AlignedBytes(static_cast<size_t>(words) * sizeof(uint32_t));
    bytes = maxima + kMaxMaxima * sizeof(uint32_t) + sizeof(int);
  }
};

template <typename T>
class Backward {
 public:
  explicit Backward(const BackwardCall& call)
      : context_(call.context),
        s_{.p = call.p,
           .indices = call.arguments.In<int32_t>("pts_idx_of_voxels"),
           .argmax = call.arguments.In<int32_t>("argmax"),
           .grad = call.arguments.In<T>("grad_out")},
        grad_in_(call.arguments.Out<T>("grad_in")) {}

  // Half sums in grad_in, without scratch.
  void RunPacked() {
    Zero(grad_in_, SumBytes(s_.p, sizeof(T)));
    AddMaxima(PackedSums(reinterpret_cast<__half*>(grad_in_)));
  }

  // Float gradients are the sums; half gradients are summed in float and rounded once.
  void RunAtomics(char* scratch) {
    auto* sums = reinterpret_cast<float*>(scratch + DenseBytes(s_.p));
    if constexpr (std::is_same_v<T, float>) sums = grad_in_;
    const size_t bytes = SumBytes(s_.p, sizeof(float));
    if (s_.p.method == kMaximum) {
      context_.Zero(sums, bytes);  // AddMaximum does not overlap it: FloatSums::kPdlMaximum
      AddMaxima(FloatSums(sums));
    } else {
      Zero(sums, bytes);
      const bool wide = s_.p.channels % 4 == 0 && IsAligned(s_.grad) && IsAligned(sums);
      auto* dense = reinterpret_cast<bool*>(scratch);
      wide ? AddAverages<4>(FloatSums(sums), dense) : AddAverages<1>(FloatSums(sums), dense);
    }
    if constexpr (!std::is_same_v<T, float>) Round(RoundFloats, sums);
  }

  void RunIntegers(char* scratch) {
    const IntegerLayout layout(s_.p);
    char* memory = scratch + DenseBytes(s_.p);
    auto* maxima = reinterpret_cast<uint32_t*>(memory + layout.maxima);
    const int bits = std::bit_width(static_cast<uint64_t>(s_.p.voxels() - 1));
    IntegerSums sums = {.sums = reinterpret_cast<unsigned long long*>(memory),
                        .marks = reinterpret_cast<uint32_t*>(memory + layout.marks),
                        .maxima = maxima,
                        .blocks = 0,
                        .bits = bits,
                        .shift = IntegerSums::Shift(bits, IntegerSums::kHalfExponent),
                        .found_shift = reinterpret_cast<int*>(maxima + kMaxMaxima)};
    if constexpr (std::is_same_v<T, float>) {
      sums.blocks = LaunchPrepare(memory, layout.maxima, maxima);
    } else {
      Zero(memory, layout.maxima);
    }
    s_.p.method == kMaximum ? AddMaxima(sums)
                            : AddAverages<1>(sums, reinterpret_cast<bool*>(scratch));
    Round(RoundIntegers<T>, sums);
  }

 private:
  void Zero(void* data, size_t bytes) {
    if (!IsAligned(data) || bytes % sizeof(uint4) != 0) return context_.Zero(data, bytes);
    const auto vectors = static_cast<int64_t>(bytes / sizeof(uint4));
    context_.Launch(ZeroSums, {CeilDiv(vectors, kThreads), kThreads}, static_cast<uint4*>(data),
                    vectors);
  }

  template <class Kernel, class Sums>
  void Round(Kernel kernel, const Sums& sums) {
    const int64_t count = int64_t{s_.p.points} * s_.p.channels;
    context_.Launch(kernel, {CeilDiv(count, kThreads), kThreads, 0, true}, sums, count, grad_in_);
  }

  template <class Sums>
  void AddMaxima(const Sums& sums) {
    const int64_t elements = s_.p.voxels() * s_.p.channels;
    const Grid grid = {CeilDiv(elements, kThreads * kElementsInFlight), kThreads, 0,
                       Sums::kPdlMaximum};
    context_.Launch(AddMaximum<T, Sums>, grid, s_, sums, elements);
  }

  // V: channels per thread. dense: receives the tiles that are sorted
  template <int V, class Sums>
  void AddAverages(const Sums& sums, bool* dense) {
    s_.groups = static_cast<uint32_t>(s_.p.channels / V);
    const auto row_bytes = s_.p.channels * static_cast<int64_t>(sizeof(typename Sums::ScaledGrad));
    Tile tile = SortingTile(context_, s_.p, row_bytes);
    tile.wide_slots = s_.p.slots % 4 == 0 && IsAligned(s_.indices);
    context_.Launch(AddAverage<T, V, Sums>, {AverageTiles(s_.p), kThreads, 0, true}, s_, sums,
                    DensePairs(s_.p, tile), dense);
    if (tile.pairs == 0) return;
    const Grid grid = {CeilDiv(s_.p.voxels(), int64_t{tile.tiles} * tile.voxels), kTileThreads,
                       static_cast<size_t>(TileBytes(tile, s_.p.points, row_bytes)), true};
    context_.Launch(SortTiles<T, V, Sums>, grid, s_, sums, tile, dense);
  }

  // Zeroes the sums and finds the greatest gradient. Returns the number of blocks.
  int LaunchPrepare(char* sums, size_t bytes, uint32_t* maxima) {
    constexpr int64_t kBlockElements = kThreads * 16;  // four loads per thread
    const int64_t count = s_.p.voxels() * s_.p.channels;
    const auto vectors = static_cast<int64_t>(bytes / sizeof(uint4));
    const int64_t blocks =
        std::min(CeilDiv(std::max(count, vectors * 4), kBlockElements), kMaxMaxima);
    context_.Launch(Prepare, {blocks, kThreads}, reinterpret_cast<const float*>(s_.grad), count,
                    IsAligned(s_.grad), reinterpret_cast<uint4*>(sums), vectors, maxima);
    return static_cast<int>(blocks);
  }

  CudaContext& context_;
  Gradients<T> s_;
  T* grad_in_;
};

bool CanPack(const BackwardCall& call) {
  const Problem& p = call.p;
  return call.context.atomics_allowed() && p.half && p.method == kMaximum &&
         p.voxels() <= kMaxPackedVoxels * p.points && int64_t{p.points} * p.channels % 2 == 0 &&
         IsAligned(call.arguments.Out<void>("grad_in"), 4);
}
bool CanUseAtomics(const BackwardCall& call) { return call.context.atomics_allowed(); }

size_t FloatScratch(const BackwardCall& call) {
  return DenseBytes(call.p) + (call.p.half ? SumBytes(call.p, sizeof(float)) : 0);
}
size_t IntegerScratch(const BackwardCall& call) {
  return DenseBytes(call.p) + IntegerLayout(call.p).bytes;
}

mluOpStatus_t RunPacked(const BackwardCall& call, void*) {
  Backward<__half>(call).RunPacked();
  return call.context.status();
}
mluOpStatus_t RunAtomics(const BackwardCall& call, void* scratch) {
  auto* const bytes = static_cast<char*>(scratch);
  call.p.half ? Backward<__half>(call).RunAtomics(bytes) : Backward<float>(call).RunAtomics(bytes);
  return call.context.status();
}
mluOpStatus_t RunIntegers(const BackwardCall& call, void* scratch) {
  auto* const bytes = static_cast<char*>(scratch);
  call.p.half ? Backward<__half>(call).RunIntegers(bytes)
              : Backward<float>(call).RunIntegers(bytes);
  return call.context.status();
}

template <class Sums>
void DescribeTile(const BackwardCall& call, Plan& plan) {
  if (call.p.method == kMaximum) return;
  const auto row_bytes = call.p.channels * static_cast<int64_t>(sizeof(typename Sums::ScaledGrad));
  const Tile tile = SortingTile(call.context, call.p, row_bytes);
  if (tile.pairs == 0) return plan.Add("no tile is sorted");
  plan.Add("tiles %d of %d voxels per block that sorts", tile.tiles, tile.voxels);
  plan.Add("pairs %d sorted at a time, if %d voxels have at least %" PRId64, tile.pairs, kThreads,
           DensePairs(call.p, tile));
}

// Implementation "double": a thread owns one channel of a band of points, and adds voxels in ascending
// order.

// Enough bands to occupy the device with few channels. Every band reads all indices.
constexpr int kBands = 64;

struct DoubleGradients {
  const int32_t *indices, *argmax;
  const double* grad_out;
  double* sums;  // grad_in
};

// The points [begin, end) of channel c.
struct Owned {
  int64_t c;
  int32_t begin, end;

  __device__ bool Has(int32_t point) const { return point >= begin && point < end; }
};

__device__ void AddOwnedMaxima(const Problem& p, const DoubleGradients& t, const Owned& own) {
#pragma unroll 4
  for (int64_t i = own.c; i < p.voxels() * p.channels; i += p.channels) {
    const int32_t point = t.argmax[i];
    if (own.Has(point)) t.sums[int64_t{point} * p.channels + own.c] += t.grad_out[i];
  }
}

__device__ void AddOwnedAverages(const Problem& p, const DoubleGradients& t, const Owned& own) {
  for (int64_t voxel = 0; voxel < p.voxels(); ++voxel) {
    const int32_t* const row = t.indices + voxel * p.slots;
    const int count = p.Stored(row[0]);
    for (int k = 1; k <= count; ++k) {
      if (!own.Has(row[k])) continue;
      t.sums[int64_t{row[k]} * p.channels + own.c] +=
          t.grad_out[voxel * p.channels + own.c] / count;
    }
  }
}

mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void*) {
  const Arguments& a = call.arguments;
  const DoubleGradients t = {a.In<int32_t>("pts_idx_of_voxels"), a.In<int32_t>("argmax"),
                             a.In<double>("grad_out"), a.Out<double>("grad_in")};
  const Problem p = call.p;
  call.context.Zero(t.sums, a.Tensor("grad_in").ByteCount());
  ForEach(call.context, int64_t{kBands} * p.channels, [=] __device__(int64_t i) {
    const int64_t band = i / p.channels;
    const Owned own = {i % p.channels, static_cast<int32_t>(band * p.points / kBands),
                       static_cast<int32_t>((band + 1) * p.points / kBands)};
    p.method == kMaximum ? AddOwnedMaxima(p, t, own) : AddOwnedAverages(p, t, own);
  });
  return call.context.status();
}

constexpr CudaImplementation<Problem> kBackward[] = {
    {"packed", "atomics allowed, MAX, half, at most 32 voxels per point", CanPack, nullptr,
     RunPacked},
    {"atomics", "atomics allowed", CanUseAtomics, FloatScratch, RunAtomics,
     DescribeTile<FloatSums>},
    {"integers", "always", Always, IntegerScratch, RunIntegers, DescribeTile<IntegerSums>},
    CudaImplementation<Problem>::ForDouble(RunDoubleBackward),
};

}  // namespace

constexpr CudaOperator kBackwardCuda =
    Bind<MakeBackwardProblem, kBackward>("roiaware_pool3d_backward");

}  // namespace mluop::roiaware_pool3d
