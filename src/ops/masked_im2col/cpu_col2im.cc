// SPDX-License-Identifier: Apache-2.0
// masked_col2im on the CPU. The masks are put in the order of the tiles of a plane that they fall into,
// once for all channels: then every tile of every channel is a work item of its own, which zeroes 32 KiB
// in the L1 cache, scatters its masks there and writes them out.
#include <algorithm>

#include "ops/masked_im2col/calls.h"
#include "ops/masked_im2col/cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col/cpu_col2im.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/masked_im2col/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::ZeroRow;

template <typename T>
void FillTile(const Col2imCall<T>& call, int64_t channel, int64_t tile) {
  alignas(kAlignment) T stage[Col2imCall<T>::kTile];
  const int64_t begin = tile * call.kTile;
  const int64_t size = std::min(call.kTile, call.p.plane() - begin);
  const T* from = call.col + channel * call.p.masks;
  T* out = call.im + channel * call.p.plane() + begin;
  T* to = call.stream ? stage : out;
  ZeroRow(to, size);
  for (int64_t k = call.first[tile]; k < call.first[tile + 1]; ++k) {
    to[call.offset[k]] = from[call.source[k]];
  }
  if (call.stream) WriteRow(stage, size, out, true);
}

template <typename T>
void FillTiles(const Col2imCall<T>& call, int64_t begin, int64_t end) {
  const int64_t tiles = call.tiles();
  for (int64_t item = begin; item < end; ++item) FillTile(call, item / tiles, item % tiles);
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

// Output elements that are worth a range of their own: some microseconds.
constexpr int64_t kGrain = 16384;

template <typename T>
size_t ScratchBytes(int64_t masks, int64_t plane) {
  const int64_t tiles = (plane + Col2imCall<T>::kTile - 1) / Col2imCall<T>::kTile;
  return static_cast<size_t>(2 * masks + tiles + 1) * sizeof(int32_t);
}

// A counting sort: masks of the same tile keep their order, so that the last of duplicates stays last.
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

template <typename T, class Kernel>
void Run(const Arguments& arguments, Context& context, Kernel kernel) {
  Col2imCall<T> call = {};
  call.p = MakeProblem(arguments);
  call.col = arguments.In<T>("col");
  call.im = arguments.Out<T>("im");
  call.stream = static_cast<int64_t>(arguments.Tensor("im").ByteCount()) >= kStreamBytes;
  SortMasks(call, arguments.In<int32_t>("mask_h_idx"), arguments.In<int32_t>("mask_w_idx"),
            context.Scratch(ScratchBytes<T>(call.p.masks, call.p.plane())));
  const int64_t tile = std::min(call.kTile, call.p.plane());
  context.threads().For(call.p.channels * call.tiles(), kGrain / tile + 1,
                        [&](int64_t begin, int64_t end, int) { kernel(call, begin, end); });
}

}  // namespace

mluOpStatus_t Col2imCpu(const Arguments& arguments, Context& context) {
  if (arguments.Type() == MLUOP_DTYPE_FLOAT) {
    Run<float>(arguments, context, HWY_DYNAMIC_DISPATCH(Col2imFloat));
  } else {
    Run<uint16_t>(arguments, context, HWY_DYNAMIC_DISPATCH(Col2imHalf));
  }
  return MLUOP_STATUS_SUCCESS;
}

size_t Col2imWorkspaceSize(const Arguments& arguments) {
  const int64_t masks = arguments.Symbol("M");
  const int64_t plane = arguments.Symbol("H") * arguments.Symbol("W");
  return WorkspaceFor(ScratchBytes<float>(masks, plane));
}

}  // namespace mluop::masked_im2col
#endif  // HWY_ONCE
