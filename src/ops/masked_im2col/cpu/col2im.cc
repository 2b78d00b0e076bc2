// SPDX-License-Identifier: Apache-2.0
// masked_col2im forward on the CPU. "tiles" sorts the masks by the tile of the plane that they write to,
// once for all channels. A work item zeroes a tile of up to 32 KiB, scatters its masks there and
// writes it out. "planes" zeroes all planes, then scatters the masks of each.
#include <algorithm>

#include "cpu/tuning.h"
#include "ops/masked_im2col/cpu/mask_table.h"
#include "ops/masked_im2col/cpu/operators.h"
#include "ops/masked_im2col/cpu/tuning.h"

#ifndef MLUOP_OPS_MASKED_IM2COL_CPU_COL2IM_CC_
#define MLUOP_OPS_MASKED_IM2COL_CPU_COL2IM_CC_
namespace mluop::masked_im2col {
namespace {

struct Col2imCall {
  Problem p;
  // The masks inside the feature, by tile; within a tile in ascending order.
  int32_t* source;  // [masks] which mask
  int32_t* offset;  // [masks] its element of the tile
  int32_t* first;   // [tiles + 1] where each tile's masks start
  const void* col;
  void* im;
  bool half, stream;

  // Tiles of a plane. Planes smaller than a tile share one.
  int64_t tiles() const { return (p.plane() + kTileElements - 1) / kTileElements; }
  int64_t planes() const { return std::max<int64_t>(1, kTileElements / p.plane()); }
  int64_t items() const { return (p.channels + planes() - 1) / planes() * tiles(); }
};

}  // namespace
}  // namespace mluop::masked_im2col
#endif  // MLUOP_OPS_MASKED_IM2COL_CPU_COL2IM_CC_

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col/cpu/col2im.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/masked_im2col/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {
namespace {

// Writes pixels of `tile` in planes [first, last): more than one plane only if they are whole.
template <typename T>
void FillTile(const Col2imCall& call, int64_t tile, int64_t first, int64_t last) {
  alignas(kAlignment) T stage[kTileElements];
  const int64_t plane = call.p.plane();
  const int64_t begin = tile * kTileElements;
  const int64_t size = std::min(kTileElements, plane - begin);
  T* const out = static_cast<T*>(call.im) + first * plane + begin;
  T* const data = call.stream ? stage : out;
  mluop::HWY_NAMESPACE::ZeroRow(data, (last - first) * size);
  const int32_t* const source = call.source;
  const int32_t* const offset = call.offset;
  const int64_t mask_end = call.first[tile + 1];
  for (int64_t channel = first; channel < last; ++channel) {
    const T* const from = static_cast<const T*>(call.col) + channel * call.p.masks;
    T* const to = data + (channel - first) * size;
    const auto put = [=](int64_t k) { to[offset[k]] = from[source[k]]; };
    // Unrolled by four, which GCC does not do by itself: 1.3 times as fast.
    int64_t k = call.first[tile];
    for (; k + 4 <= mask_end; k += 4) put(k), put(k + 1), put(k + 2), put(k + 3);
    for (; k < mask_end; ++k) put(k);
  }
  if (call.stream) StreamRow(stage, (last - first) * size, out);
}

template <typename T>
void FillTiles(const Col2imCall& call, int64_t begin, int64_t end) {
  const int64_t tiles = call.tiles();
  const int64_t planes = call.planes();
  for (int64_t item = begin; item < end; ++item) {
    const int64_t first = item / tiles * planes;
    FillTile<T>(call, item % tiles, first, std::min<int64_t>(first + planes, call.p.channels));
  }
  if (call.stream) hwy::FlushStream();
}

}  // namespace

void Col2imTiles(const Col2imCall& call, int64_t begin, int64_t end) {
  call.half ? FillTiles<uint16_t>(call, begin, end) : FillTiles<uint32_t>(call, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col {
namespace {

HWY_EXPORT(Col2imTiles);

size_t TileBytes(const Problem& p) {
  Col2imCall c = {};
  c.p = p;
  return static_cast<size_t>(int64_t{2} * p.masks + c.tiles() + 1) * sizeof(int32_t);
}

// A counting sort: masks of the same tile keep their order, so that the last of duplicates stays last.
void SortMasks(const Col2imCall& c, const MaskIndices& masks) {
  const Problem& p = c.p;
  const int64_t tiles = c.tiles();
  std::fill_n(c.first, tiles + 1, 0);
  for (int64_t m = 0; m < p.masks; ++m) {
    const int64_t pixel = p.Offset(masks.h[m], masks.w[m]);
    if (pixel >= 0) ++c.first[pixel / kTileElements + 1];
  }
  for (int64_t tile = 0; tile < tiles; ++tile) c.first[tile + 1] += c.first[tile];
  for (int64_t m = 0; m < p.masks; ++m) {
    const int64_t pixel = p.Offset(masks.h[m], masks.w[m]);
    if (pixel < 0) continue;
    const int32_t place = c.first[pixel / kTileElements]++;  // first[t] becomes first[t + 1]
    c.source[place] = static_cast<int32_t>(m);
    c.offset[place] = static_cast<int32_t>(pixel % kTileElements);
  }
  std::copy_backward(c.first, c.first + tiles, c.first + tiles + 1);
  c.first[0] = 0;
}

Col2imCall MakeCall(const CpuCall<Problem>& call) {
  const Arguments& a = call.arguments;
  Col2imCall c = {};
  c.p = call.p;
  c.col = a.In<void>("col");
  c.im = a.Out<void>("im");
  c.half = IsHalf(a);
  c.stream = a.Tensor("im").ByteCount() >= kStreamBytes;
  return c;
}

size_t TileScratch(const CpuCall<Problem>& call) { return TileBytes(call.p); }

mluOpStatus_t RunTiles(const CpuCall<Problem>& call, void* scratch) {
  Col2imCall c = MakeCall(call);
  c.source = static_cast<int32_t*>(scratch);
  c.offset = c.source + c.p.masks;
  c.first = c.offset + c.p.masks;
  SortMasks(c, MasksOf(call.arguments));
  const auto kernel = HWY_DYNAMIC_DISPATCH(Col2imTiles);
  call.context.threads().For(c.items(), kGrain / kTileElements,
                             [&](int64_t begin, int64_t end, int) { kernel(c, begin, end); });
  return MLUOP_STATUS_SUCCESS;
}

template <typename T>
void FillPlanes(const CpuCall<Problem>& call) {
  const Problem& p = call.p;
  const T* const col = call.arguments.In<T>("col");
  T* const im = call.arguments.Out<T>("im");
  const MaskIndices masks = MasksOf(call.arguments);
  ThreadPool& threads = call.context.threads();
  threads.For(p.channels * p.plane(), kGrain,
              [&](int64_t begin, int64_t end, int) { std::fill(im + begin, im + end, T{}); });
  threads.For(p.channels, kGrain / (int64_t{p.masks} + 1) + 1,
              [&](int64_t begin, int64_t end, int) {
                for (int64_t channel = begin; channel < end; ++channel) {
                  const T* from = col + channel * p.masks;
                  T* to = im + channel * p.plane();
                  for (int64_t m = 0; m < p.masks; ++m) {
                    const int64_t pixel = p.Offset(masks.h[m], masks.w[m]);
                    if (pixel >= 0) to[pixel] = from[m];
                  }
                }
              });
}

mluOpStatus_t RunPlanes(const CpuCall<Problem>& call, void* /*scratch*/) {
  IsHalf(call.arguments) ? FillPlanes<uint16_t>(call) : FillPlanes<uint32_t>(call);
  return MLUOP_STATUS_SUCCESS;
}

bool HasChannels(const CpuCall<Problem>& call) { return call.p.channels >= 8; }

constexpr CpuImplementation<Problem> kCol2im[] = {
    {"tiles", "at least 8 channels", HasChannels, TileScratch, RunTiles},
    {"planes", "always", Always, nullptr, RunPlanes},
};

}  // namespace

constexpr CpuOperator kCol2imCpu = Bind<MakeProblem, kCol2im>("masked_col2im_forward");

size_t Col2imWorkspaceSize(const Arguments& arguments) {
  const Problem p = MakeProblem(arguments);
  return WorkspaceFor(p.channels >= 8 ? TileBytes(p) : 0);
}

}  // namespace mluop::masked_im2col
#endif  // HWY_ONCE
