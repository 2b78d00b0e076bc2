// SPDX-License-Identifier: Apache-2.0
// masked_col2im on the CPU. The masks are put in the order of the tiles of a plane that they fall
// into, once for all channels: then every tile of every channel is a work item of its own, which
// zeroes 32 KiB in the L1 cache, scatters its masks there and writes them out. A few channels do
// not pay for the order.
#include <algorithm>

#include "cpu/tuning.h"
#include "ops/masked_im2col/cpu/calls.h"
#include "ops/masked_im2col/cpu/operators.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col/cpu/col2im.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/masked_im2col/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::ZeroRow;

// Pixels of `tile` in planes [first, last): more than one plane only if they are whole.
template <typename T>
void FillTile(const Col2imCall<T>& call, int64_t tile, int64_t first, int64_t last) {
  alignas(kAlignment) T stage[Col2imCall<T>::kTile];
  const int64_t plane = call.p.plane();
  const int64_t begin = tile * call.kTile;
  const int64_t size = std::min(call.kTile, plane - begin);
  T* out = call.im + first * plane + begin;
  T* tile_data = call.stream ? stage : out;
  ZeroRow(tile_data, (last - first) * size);
  const int32_t* source = call.source;
  const int32_t* offset = call.offset;
  const int64_t mask_begin = call.first[tile];
  const int64_t mask_end = call.first[tile + 1];
  for (int64_t channel = first; channel < last; ++channel) {
    const T* from = call.col + channel * call.p.masks;
    T* to = tile_data + (channel - first) * size;
    const auto put = [=](int64_t k) { to[offset[k]] = from[source[k]]; };
    // Four at a time, which GCC does not do by itself: 1.3 times as fast.
    int64_t k = mask_begin;
    for (; k + 4 <= mask_end; k += 4) put(k), put(k + 1), put(k + 2), put(k + 3);
    for (; k < mask_end; ++k) put(k);
  }
  if (call.stream) WriteRow(stage, (last - first) * size, out, true);
}

template <typename T>
void FillTiles(const Col2imCall<T>& call, int64_t begin, int64_t end) {
  const int64_t tiles = call.tiles();
  const int64_t planes = call.planes();
  for (int64_t item = begin; item < end; ++item) {
    const int64_t first = item / tiles * planes;
    FillTile(call, item % tiles, first, std::min<int64_t>(first + planes, call.p.channels));
  }
  if (call.stream) hwy::FlushStream();
}

void Col2imFloat(const Col2imCall<float>& call, int64_t begin, int64_t end) {
  FillTiles(call, begin, end);
}
void Col2imHalf(const Col2imCall<uint16_t>& call, int64_t begin, int64_t end) {
  FillTiles(call, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col {
namespace {

HWY_EXPORT(Col2imFloat);
HWY_EXPORT(Col2imHalf);

// The same for both types.
size_t ScratchBytes(const Problem& p) {
  Col2imCall<float> call = {};
  call.p = p;
  return call.sorted()
             ? static_cast<size_t>(int64_t{2} * p.masks + call.tiles() + 1) * sizeof(int32_t)
             : 0;
}

// A counting sort: masks of the same tile keep their order, so that the last of duplicates stays
// last.
template <typename T>
void SortMasks(Col2imCall<T>& call, const int32_t* mask_h, const int32_t* mask_w, void* memory) {
  const Problem& p = call.p;
  const int64_t tiles = call.tiles();
  auto* source = static_cast<int32_t*>(memory);
  int32_t* offset = source + p.masks;
  int32_t* first = offset + p.masks;
  std::fill_n(first, tiles + 1, 0);
  for (int64_t m = 0; m < p.masks; ++m) {
    const int64_t pixel = p.Offset(mask_h[m], mask_w[m]);
    if (pixel >= 0) ++first[pixel / call.kTile + 1];
  }
  for (int64_t tile = 0; tile < tiles; ++tile) first[tile + 1] += first[tile];
  for (int64_t m = 0; m < p.masks; ++m) {
    const int64_t pixel = p.Offset(mask_h[m], mask_w[m]);
    if (pixel < 0) continue;
    const int32_t place = first[pixel / call.kTile]++;  // and so first[t] becomes first[t + 1]
    source[place] = static_cast<int32_t>(m);
    offset[place] = static_cast<int32_t>(pixel % call.kTile);
  }
  std::copy_backward(first, first + tiles, first + tiles + 1);
  first[0] = 0;
  call.source = source;
  call.offset = offset;
  call.first = first;
}

// The masks of a channel in the order they came, on one thread: there is no other way to let the
// last win.
template <typename T>
void FillPlanes(const Col2imCall<T>& call, const int32_t* mask_h, const int32_t* mask_w,
                ThreadPool& threads) {
  const Problem& p = call.p;
  threads.For(p.channels * p.plane(), kGrain, [&](int64_t begin, int64_t end, int) {
    std::fill(call.im + begin, call.im + end, T{});
  });
  threads.For(p.channels, kGrain / (int64_t{p.masks} + 1) + 1,
              [&](int64_t begin, int64_t end, int) {
                for (int64_t channel = begin; channel < end; ++channel) {
                  const T* from = call.col + channel * p.masks;
                  T* to = call.im + channel * p.plane();
                  for (int64_t m = 0; m < p.masks; ++m) {
                    const int64_t pixel = p.Offset(mask_h[m], mask_w[m]);
                    if (pixel >= 0) to[pixel] = from[m];
                  }
                }
              });
}

template <typename T, class Kernel>
void Run(const Arguments& arguments, CpuContext& context, Kernel kernel) {
  Col2imCall<T> call = {};
  call.p = MakeProblem(arguments);
  call.col = arguments.In<T>("col");
  call.im = arguments.Out<T>("im");
  call.stream = arguments.Tensor("im").ByteCount() >= kStreamBytes;
  const auto* mask_h = arguments.In<int32_t>("mask_h_idx");
  const auto* mask_w = arguments.In<int32_t>("mask_w_idx");
  if (!call.sorted()) return FillPlanes(call, mask_h, mask_w, context.threads());
  SortMasks(call, mask_h, mask_w, context.Scratch(ScratchBytes(call.p)));
  // An item is most of a tile, or all there is.
  context.threads().For(call.items(), kGrain / Col2imCall<T>::kTile,
                        [&](int64_t begin, int64_t end, int) { kernel(call, begin, end); });
}

}  // namespace

mluOpStatus_t Col2imCpu(const Arguments& arguments, CpuContext& context) {
  if (arguments.Type() == MLUOP_DTYPE_FLOAT) {
    Run<float>(arguments, context, HWY_DYNAMIC_DISPATCH(Col2imFloat));
  } else {
    Run<uint16_t>(arguments, context, HWY_DYNAMIC_DISPATCH(Col2imHalf));
  }
  return MLUOP_STATUS_SUCCESS;
}

size_t Col2imWorkspaceSize(const Arguments& arguments) {
  return WorkspaceFor(ScratchBytes(MakeProblem(arguments)));
}

}  // namespace mluop::masked_im2col
#endif  // HWY_ONCE
