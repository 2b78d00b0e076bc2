// SPDX-License-Identifier: Apache-2.0
// masked_im2col forward on the CPU. Up to four elements of a kernel row are neighbours in the feature
// and lie in different rows of data_col. So they are loaded at once for several masks and
// transposed. The loads also read unneeded neighbours, but never outside the feature. Steps near
// its ends are copied element by element, and so are calls with fewer masks than a step.
#include <algorithm>

#include "cpu/tuning.h"
#include "ops/masked_im2col/cpu/mask_table.h"
#include "ops/masked_im2col/cpu/operators.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col/cpu/forward.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/simd-inl.h"
#include "ops/masked_im2col/cpu/columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col::HWY_NAMESPACE {
namespace {

// A tile of the kernel: up to four columns, one load, of up to four rows.
constexpr int64_t kTileColumns = 4;
constexpr int64_t kTileRows = 4;

// The kernel elements (i + r, j + k), r < rows and k < columns, of masks [begin, end). Mask m's are
// copied from from[corner + r*W + k] to to[(r*row_step + k)*stride + m - begin].
template <typename T>
struct KernelTile {
  int64_t begin, end;
  int64_t i, j, rows, columns;
  const T* from;
  T* to;
  int64_t row_step, stride;
};

template <typename T>
void CopyElements(const ForwardCall& call, const KernelTile<T>& tile, int64_t s) {
  const int64_t first = call.masks.StepBegin(s);
  const int64_t* corner = call.masks.corner + first;
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t k = 0; k < tile.columns; ++k) {
      const uint32_t inside = call.masks.Inside(s, tile.i + r, tile.j + k);
      const T* from = tile.from + r * call.p.width + k;
      T* to = tile.to + (r * tile.row_step + k) * tile.stride + first - tile.begin;
      for (int64_t lane = 0; lane < std::min(call.masks.step, call.masks.masks); ++lane) {
        to[lane] = (inside >> lane & 1) != 0 ? from[corner[lane]] : T{0};
      }
    }
  }
}

#if HWY_TARGET != HWY_SCALAR

// The lanes whose bits are set, from bit `lane` on. Short vectors test a broadcast of the bits.
// Highway's LoadMaskBits takes them through a general register, 1.02x the time of C256 20x20 M200
// k3 with AVX2.
template <class D>
HWY_INLINE hn::Mask<D> LanesOf(D d, const uint32_t* bits, [[maybe_unused]] int64_t lane) {
  using T = hn::TFromD<D>;
  if constexpr (hn::MaxLanes(D()) * sizeof(T) == 64) {
    return hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(bits));
  } else {
    alignas(32) static constexpr T kBits[16] = {1,       1 << 1,  1 << 2,  1 << 3, 1 << 4,  1 << 5,
                                                1 << 6,  1 << 7,  1 << 8,  1 << 9, 1 << 10, 1 << 11,
                                                1 << 12, 1 << 13, 1 << 14, 1 << 15};
    const auto word = static_cast<T>(sizeof(T) == 4 ? *bits : *bits >> (lane & 16));
    return hn::TestBit(hn::Set(d, word), hn::LoadU(d, kBits + (lane & 15)));
  }
}

// The bits of a tile's rows and columns from a vector's first lane on.
struct TileBits {
  const uint32_t *rows, *columns;
  int64_t lane;
};

// The elements of a vector that may be outside the feature.
enum class Outside { kNone, kColumns, kRowsAndColumns };

// Stores the columns of one vector of masks, row after row. load(r) gives the columns of row r.
template <int kCount, Outside kOutside, class D, typename T, class Load>
HWY_INLINE void StoreColumns(D d, const TileBits& bits, const KernelTile<T>& tile, T* to,
                             const Load& load) {
  constexpr bool kWindow = hn::MaxLanes(D()) * sizeof(T) == 64;
  [[maybe_unused]] hn::Mask<D> columns[kCount];
  if constexpr (kOutside != Outside::kNone) {
    simd::Unroll<kCount>([&](auto k)
                             HWY_ATTR { columns[k] = LanesOf(d, bits.columns + k, bits.lane); });
  }
  for (int64_t r = 0; r < tile.rows; ++r, to += tile.row_step * tile.stride) {
    const auto v = load(r);
    [[maybe_unused]] const auto row = LanesOf(d, bits.rows + r, bits.lane);
    simd::Unroll<kCount>([&](auto k) HWY_ATTR {
      auto column = v.v[k];
      if constexpr (kOutside == Outside::kColumns) {
        column = hn::IfThenElseZero(columns[k], column);
      } else if constexpr (kOutside == Outside::kRowsAndColumns) {
        column = hn::IfThenElseZero(hn::And(row, columns[k]), column);
      }
      T* const out = to + k * tile.stride;
      // Prefetches the line in which the next step's vector ends: 1.4x floor instead of 2.0x on
      // C256 20x20 M200 k3, hot, where vectors cross lines; 1.3x instead of 1.6x with M208, where
      // they do not. With AVX2 it takes 1.05x the time.
      if constexpr (kWindow) hwy::Prefetch(out + 2 * hn::MaxLanes(D()) - 1);
      hn::StoreU(column, d, out);
    });
  }
}

template <int kCount, Outside kOutside, typename T>
HWY_INLINE void CopyColumns(const KernelTile<T>& tile, TileBits bits, const int64_t* corner,
                            int64_t width, T* to) {
  const ColumnTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; bits.lane < StepMasks(sizeof(T)); bits.lane += lanes, corner += lanes, to += lanes) {
    StoreColumns<kCount, kOutside>(d, bits, tile, to, [&](int64_t r) HWY_ATTR {
      return LoadColumns(tile.from + r * width, corner);
    });
  }
}

#if MLUOP_HAS_LOOKUP_TWO
// C256 20x20 M200 k3 sorted, 2 threads, hot: 0.70x the time of AVX2, which has no windows; half 0.55x. Two
// vectors instead of four where they hold the window: 0.63x for float.
template <int kCount, int kVectors, typename T>
HWY_INLINE void CopyWindow(const KernelTile<T>& tile, const TileBits& bits, const T* from,
                           const uint16_t* table_places, int64_t width, T* to) {
  const WindowTag<T> d;
  const auto places = LoadPlaces(d, table_places);
  StoreColumns<kCount, Outside::kRowsAndColumns>(d, bits, tile, to, [&](int64_t r) HWY_ATTR {
    return LoadWindow<kVectors>(from + r * width, places);
  });
}
#endif

template <int kCount, typename T>
void CopySteps(const ForwardCall& call, const KernelTile<T>& tile_in) {
  constexpr int64_t kStep = StepMasks(sizeof(T));
  // Copies whose addresses do not escape: vector stores cannot change them.
  const KernelTile<T> tile = tile_in;
  const MaskTable masks = call.masks;
  const int64_t width = call.p.width;
  // Elements of the feature before the tile's first row, and from its last row on.
  const int64_t before = tile.from - static_cast<const T*>(call.feature);
  const int64_t after = call.p.channels * call.p.plane() - before - (tile.rows - 1) * width;
  for (int64_t s = tile.begin / kStep; s < (tile.end + kStep - 1) / kStep; ++s) {
    const MaskStep step = masks.steps[s];
    const int64_t first = std::min(s * kStep, masks.masks - kStep);
    const int64_t* const corner = masks.corner + first;
    T* const to = tile.to + first - tile.begin;
    const TileBits bits = {masks.rows + s * masks.kernel_h + tile.i,
                           masks.columns + s * masks.kernel_w + tile.j, 0};
#if MLUOP_HAS_LOOKUP_TWO
    const int64_t span = step.high - step.low + kCount;
    if (span <= 4 * kStep && step.low + before >= 0 && step.low + 4 * kStep <= after) {
      const T* const from = tile.from + step.low;
      const uint16_t* const places = masks.places + s * kStep;
      span <= 2 * kStep ? CopyWindow<kCount, 2>(tile, bits, from, places, width, to)
                        : CopyWindow<kCount, 4>(tile, bits, from, places, width, to);
      continue;
    }
#endif
    if (step.low + before < 0 || step.high + int64_t{16 / sizeof(T)} > after) {
      CopyElements(call, tile_in, s);
    } else if (!step.rows_inside) {
      CopyColumns<kCount, Outside::kRowsAndColumns>(tile, bits, corner, width, to);
    } else if (!step.columns_inside) {
      CopyColumns<kCount, Outside::kColumns>(tile, bits, corner, width, to);
    } else {
      CopyColumns<kCount, Outside::kNone>(tile, bits, corner, width, to);
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

// Doubles are copied element by element.
template <typename T>
void CopyTile(const ForwardCall& call, const KernelTile<T>& tile) {
  const int64_t step = call.masks.step;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) <= 4) {
    if (call.p.masks >= step) {
      return tile.columns == 1   ? CopySteps<1>(call, tile)
             : tile.columns == 2 ? CopySteps<2>(call, tile)
             : tile.columns == 3 ? CopySteps<3>(call, tile)
                                 : CopySteps<4>(call, tile);
    }
  }
#endif
  for (int64_t s = tile.begin / step; s * step < tile.end; ++s) CopyElements(call, tile, s);
}

// Copies the masks of a work item. With non-temporal stores a tile is copied to a stage first, so
// that data_col is written in whole lines.
template <typename T>
void CopyBlock(const ForwardCall& call, int64_t item) {
  constexpr int64_t kStride = 2 * kBlockBytes / sizeof(T);
  alignas(kAlignment) T stage[kTileRows * kTileColumns * kStride];
  const Problem p = call.p;
  const int64_t blocks = call.blocks(), channel = item / blocks;
  const int64_t begin = item % blocks * call.block;
  const int64_t end = item % blocks == blocks - 1 ? p.masks : begin + call.block;
  const T* const plane = static_cast<const T*>(call.feature) + channel * p.plane();
  for (int64_t i = 0; i < p.kernel_h; i += kTileRows) {
    const int64_t rows = std::min(kTileRows, p.kernel_h - i);
    for (int64_t j = 0; j < p.kernel_w; j += kTileColumns) {
      const int64_t columns = std::min(kTileColumns, p.kernel_w - j);
      T* const out = static_cast<T*>(call.data_col) +
                     ((channel * p.kernel_h + i) * p.kernel_w + j) * p.masks + begin;
      const T* const from = plane + i * p.width + j;
      if (!call.stream) {
        CopyTile<T>(call, {begin, end, i, j, rows, columns, from, out, p.kernel_w, p.masks});
        continue;
      }
      CopyTile<T>(call, {begin, end, i, j, rows, columns, from, stage, columns, kStride});
      for (int64_t k = 0; k < rows * columns; ++k) {
        const int64_t row = k / columns * p.kernel_w + k % columns;
        simd::CopyRow(stage + k * kStride, end - begin, out + row * p.masks, true);
      }
    }
  }
}

}  // namespace

void ForwardBlocks(const ForwardCall& call, int64_t begin, int64_t end) {
  const auto copy = call.element_bytes == 2   ? CopyBlock<uint16_t>
                    : call.element_bytes == 4 ? CopyBlock<uint32_t>
                                              : CopyBlock<uint64_t>;
  for (int64_t item = begin; item < end; ++item) copy(call, item);
  if (call.stream) hwy::FlushStream();
}

}  // namespace mluop::masked_im2col::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col {
namespace {

HWY_EXPORT(ForwardBlocks);

int64_t StepOf(const Arguments& a) { return StepMasks(SizeOf(a.Type())); }

size_t TransposeScratch(const CpuCall<Problem>& call) {
  return MaskTableBytes(call.p, StepOf(call.arguments));
}

mluOpStatus_t RunTranspose(const CpuCall<Problem>& call, void* scratch) {
  const Arguments& a = call.arguments;
  ThreadPool& threads = call.context.threads();
  ForwardCall f = {};
  f.p = call.p;
  f.masks = MakeMaskTable(f.p, MasksOf(a), StepOf(a), scratch, threads);
  f.feature = a.In<void>("feature");
  f.data_col = a.Out<void>("data_col");
  f.element_bytes = SizeOf(a.Type());
  f.block = kBlockBytes / static_cast<int64_t>(f.element_bytes);
  f.stream = ShouldStream(a.Tensor("data_col").ByteCount());
  const int64_t items = f.p.channels * f.blocks();
  const int64_t elements = f.p.channels * f.p.taps() * f.p.masks;
  const auto kernel = HWY_DYNAMIC_DISPATCH(ForwardBlocks);
  threads.For(items, kGrain * items / elements + 1,
              [&](int64_t begin, int64_t end, int) { kernel(f, begin, end); });
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kForward[] = {
    {"transpose", "always", Always, TransposeScratch, RunTranspose},
    CpuImplementation<Problem>::ForDouble(RunTranspose, TransposeScratch),
};

}  // namespace

constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("masked_im2col_forward");

size_t ForwardWorkspaceSize(const Arguments& arguments) {
  return MaskTableBytes(MakeProblem(arguments), StepOf(arguments));
}

}  // namespace mluop::masked_im2col
#endif  // HWY_ONCE
