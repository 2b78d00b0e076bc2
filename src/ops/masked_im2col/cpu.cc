// SPDX-License-Identifier: Apache-2.0
// masked_im2col forward on the CPU. Up to four elements of a kernel row lie side by side in the feature
// and in as many rows of data_col: 16 bytes are loaded for each mask of a step, and transposed. The loads
// take neighbours along that are not asked for, but never a byte outside the feature: a step near its
// ends, and a call with fewer masks than a step, go element by element.
#include "ops/masked_im2col/cpu.h"

#include <algorithm>

#include "ops/masked_im2col/calls.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col/cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/masked_im2col/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

// A group of kernel elements is copied at once: up to four columns, one load, of up to four rows.
constexpr int64_t kColumns = 4;
constexpr int64_t kRows = 4;

// Kernel elements (i + r, j + k), r < rows, k < columns, of masks [begin, end) in one channel. Mask m's
// goes to to[(r*row_step + k)*stride + m - begin]. Kernels copy a group before they use it: the compiler
// has to expect that a vector store changes whatever it has only a reference to.
template <typename T>
struct Group {
  int64_t begin, end;
  int64_t i, j, rows, columns;
  const T* plane;
  T* to;
  int64_t row_step, stride;
};

template <typename T>
void CopyElements(const ForwardCall<T>& call, const Group<T>& g, int64_t begin, int64_t end) {
  for (int64_t r = 0; r < g.rows; ++r) {
    for (int64_t k = 0; k < g.columns; ++k) {
      T* to = g.to + (r * g.row_step + k) * g.stride - g.begin;
      for (int64_t m = begin; m < end; ++m) {
        const int64_t offset =
            call.p.Offset(call.masks.top[m] + g.i + r, call.masks.left[m] + g.j + k);
        to[m] = offset < 0 ? T{} : g.plane[offset];
      }
    }
  }
}

#if HWY_TARGET != HWY_SCALAR

// Two 16-byte blocks at most: shuffles of 64-byte vectors have one port, of 32-byte vectors two.
template <typename T>
using StepTag = hn::CappedTag<T, ForwardCall<T>::kStep>;

// All ones in the lane of every mask whose index + shift is in [0, size). The sum may pass INT32_MAX, and
// is right as an unsigned number. Block b has the indices from index + b*distance on.
template <class D>
HWY_INLINE hn::Vec<D> InRange(D di, const int32_t* index, int distance, int64_t shift, int size) {
  const hn::RebindToUnsigned<D> du;
  const auto indices = LoadBlocks(di, [&](int b) { return index + b * distance; });
  const auto sum = hn::Add(hn::BitCast(du, indices), hn::Set(du, static_cast<uint32_t>(shift)));
  const auto inside = hn::Lt(sum, hn::Set(du, static_cast<uint32_t>(size)));
  return hn::BitCast(di, hn::VecFromMask(du, inside));
}

HWY_INLINE hn::Vec<StepTag<float>> Inside(StepTag<float> d, const int32_t* index, int64_t shift,
                                          int size) {
  const hn::RebindToSigned<decltype(d)> di;
  return hn::BitCast(d, InRange(di, index, 4, shift, size));
}

HWY_INLINE hn::Vec<StepTag<uint16_t>> Inside(StepTag<uint16_t> d, const int32_t* index,
                                             int64_t shift, int size) {
  const hn::Repartition<int32_t, decltype(d)> wide;
  const hn::RebindToSigned<decltype(d)> narrow;
  // The demotion takes blocks from its two arguments in turn.
  const auto low = InRange(wide, index, 8, shift, size);
  const auto high = InRange(wide, index + 4, 8, shift, size);
  return hn::BitCast(d, hn::ReorderDemote2To(narrow, low, high));
}

// store(k, v) gets column k of all masks.
template <int kCount, class Store>
HWY_INLINE void LoadColumns(StepTag<float> d, const float* from, const int64_t* corner,
                            const Store& store) {
  const auto row = [&](int r) {
    return LoadBlocks(d, [&](int b) { return from + corner[r + 4 * b]; });
  };
  Transpose4<kCount>(d, row, store);
}

template <int kCount, class Store>
HWY_INLINE void LoadColumns(StepTag<uint16_t> d, const uint16_t* from, const int64_t* corner,
                            const Store& store) {
  const auto row = [&](int r) {
    return LoadBlocks(d, [&](int b) { return from + corner[r + 8 * b]; });
  };
  Transpose8<kCount>(d, row, store);
}

// Masks [m, m + lanes). kInside: all their elements are inside, and none has to be zeroed.
template <int kCount, bool kInside, typename T>
HWY_INLINE void CopyLanes(const Problem& p, const MaskTable& masks, const Group<T>& g, int64_t m) {
  const StepTag<T> d;
  const int64_t* corner = masks.corner + m;
  const T* from = g.plane + g.i * p.width + g.j;
  T* to = g.to + m - g.begin;
  if constexpr (kInside) {
    for (int64_t r = 0; r < g.rows; ++r, from += p.width, to += g.row_step * g.stride) {
      LoadColumns<kCount>(d, from, corner,
                          [&](int k, auto v) { hn::StoreU(v, d, to + k * g.stride); });
    }
    return;
  }
  const int32_t* left = masks.left + m;
  const auto column0 = Inside(d, left, g.j, p.width);
  const auto column1 = kCount > 1 ? Inside(d, left, g.j + 1, p.width) : column0;
  const auto column2 = kCount > 2 ? Inside(d, left, g.j + 2, p.width) : column0;
  const auto column3 = kCount > 3 ? Inside(d, left, g.j + 3, p.width) : column0;
  for (int64_t r = 0; r < g.rows; ++r, from += p.width, to += g.row_step * g.stride) {
    const auto row = Inside(d, masks.top + m, g.i + r, p.height);
    LoadColumns<kCount>(d, from, corner, [&](int k, auto v) {
      const auto column = k == 0 ? column0 : k == 1 ? column1 : k == 2 ? column2 : column3;
      hn::StoreU(hn::And(v, hn::And(row, column)), d, to + k * g.stride);
    });
  }
}

// Whether the loads of a step stay inside the feature.
template <typename T>
bool Readable(const Problem& p, const Step& step, int64_t channel) {
  const int64_t low = int64_t{step.top_min} * p.width + step.left_min;
  const int64_t high = (int64_t{step.top_max} + p.kernel_h - 1) * p.width + step.left_max +
                       (p.kernel_w - 1) / kColumns * kColumns + int64_t{16 / sizeof(T)};
  return channel * p.plane() + low >= 0 && (channel - p.channels) * p.plane() + high <= 0;
}

template <int kCount, typename T>
void CopySteps(const ForwardCall<T>& call, const Group<T>& group, int64_t channel) {
  constexpr int64_t kStep = ForwardCall<T>::kStep;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(StepTag<T>()));
  const Problem p = call.p;
  const MaskTable masks = call.masks;
  const Group<T> g = group;
  // The corners of any mask: true for all channels but the first and the last few.
  const bool readable =
      Readable<T>(p, {-p.kernel_h, p.height, -p.kernel_w, p.width, false}, channel);
  const int64_t last = (g.end + kStep - 1) / kStep;
  for (int64_t s = g.begin / kStep; s < last; ++s) {
    const Step& step = masks.steps[s];
    const int64_t begin = std::min(s * kStep, p.masks - kStep);
    if (!readable && !Readable<T>(p, step, channel)) {
      CopyElements(call, group, begin, begin + kStep);
    } else if (step.inside) {
      for (int64_t m = 0; m < kStep; m += lanes) CopyLanes<kCount, true>(p, masks, g, begin + m);
    } else {
      for (int64_t m = 0; m < kStep; m += lanes) CopyLanes<kCount, false>(p, masks, g, begin + m);
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

template <typename T>
void CopyGroup(const ForwardCall<T>& call, const Group<T>& g, int64_t channel) {
#if HWY_TARGET != HWY_SCALAR
  if (call.p.masks >= call.kStep) {
    return g.columns == 1   ? CopySteps<1>(call, g, channel)
           : g.columns == 2 ? CopySteps<2>(call, g, channel)
           : g.columns == 3 ? CopySteps<3>(call, g, channel)
                            : CopySteps<4>(call, g, channel);
  }
#endif
  static_cast<void>(channel);
  CopyElements(call, g, g.begin, g.end);
}

// Masks [begin, end) of a channel.
template <typename T>
void CopyBlock(const ForwardCall<T>& call, int64_t channel, int64_t begin, int64_t end) {
  constexpr int64_t kStride = 2 * ForwardCall<T>::kBlock;
  alignas(kAlignment) T stage[kRows * kColumns * kStride];
  const Problem& p = call.p;
  const T* plane = call.feature + channel * p.plane();
  for (int64_t i = 0; i < p.kernel_h; i += kRows) {
    const int64_t rows = std::min(kRows, p.kernel_h - i);
    for (int64_t j = 0; j < p.kernel_w; j += kColumns) {
      const int64_t columns = std::min(kColumns, p.kernel_w - j);
      T* out = call.data_col + ((channel * p.kernel_h + i) * p.kernel_w + j) * p.masks + begin;
      Group<T> g = {begin, end, i, j, rows, columns, plane, out, p.kernel_w, p.masks};
      if (call.stream) {
        g.to = stage;
        g.row_step = columns;
        g.stride = kStride;
      }
      CopyGroup(call, g, channel);
      for (int64_t k = 0; k < rows * columns && call.stream; ++k) {
        const int64_t row = k / columns * p.kernel_w + k % columns;
        WriteRow(stage + k * kStride, end - begin, out + row * p.masks, true);
      }
    }
  }
}

template <typename T>
void CopyBlocks(const ForwardCall<T>& call, int64_t begin, int64_t end) {
  const int64_t blocks = call.blocks();
  for (int64_t item = begin; item < end; ++item) {
    const int64_t block = item % blocks;
    const int64_t first = block * call.kBlock;
    CopyBlock(call, item / blocks, first, block == blocks - 1 ? call.p.masks : first + call.kBlock);
  }
  if (call.stream) hwy::FlushStream();
}

void ForwardFloat(const ForwardCall<float>& call, int64_t begin, int64_t end) {
  CopyBlocks(call, begin, end);
}
void ForwardHalf(const ForwardCall<uint16_t>& call, int64_t begin, int64_t end) {
  CopyBlocks(call, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col {
namespace {

HWY_EXPORT(ForwardFloat);
HWY_EXPORT(ForwardHalf);

// Output elements that are worth a range of their own: some microseconds.
constexpr int64_t kGrain = 16384;

template <typename T, class Kernel>
void Run(const Arguments& arguments, Context& context, Kernel kernel) {
  const Problem p = MakeProblem(arguments);
  void* memory = context.Scratch(MaskTableBytes(p.masks, ForwardCall<T>::kStep));
  const ForwardCall<T> call = {
      p,
      MakeMaskTable(p, arguments.In<int32_t>("mask_h_idx"), arguments.In<int32_t>("mask_w_idx"),
                    ForwardCall<T>::kStep, memory, context.threads()),
      arguments.In<T>("feature"), arguments.Out<T>("data_col"),
      static_cast<int64_t>(arguments.Tensor("data_col").ByteCount()) >= kStreamBytes};
  const int64_t items = p.channels * call.blocks();
  const int64_t elements = p.channels * p.taps() * p.masks;
  context.threads().For(items, kGrain * items / elements + 1,
                        [&](int64_t begin, int64_t end, int) { kernel(call, begin, end); });
}

}  // namespace

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context) {
  if (arguments.Type() == MLUOP_DTYPE_FLOAT) {
    Run<float>(arguments, context, HWY_DYNAMIC_DISPATCH(ForwardFloat));
  } else {
    Run<uint16_t>(arguments, context, HWY_DYNAMIC_DISPATCH(ForwardHalf));
  }
  return MLUOP_STATUS_SUCCESS;
}

size_t ForwardWorkspaceSize(const Arguments& arguments) {
  const int64_t step = arguments.Type() == MLUOP_DTYPE_FLOAT ? ForwardCall<float>::kStep
                                                             : ForwardCall<uint16_t>::kStep;
  return WorkspaceFor(MaskTableBytes(arguments.Symbol("M"), step));
}

}  // namespace mluop::masked_im2col
#endif  // HWY_ONCE
