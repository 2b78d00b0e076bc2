// SPDX-License-Identifier: Apache-2.0
// masked_im2col forward on the CPU. Up to four elements of a kernel row lie side by side in the
// feature and in as many rows of data_col: 16 bytes are loaded for each mask of a step, and
// transposed. The loads take neighbours along that are not asked for, but never a byte outside the
// feature: a step near its ends goes element by element. So does a call that does not pay for a
// table of its masks.
#include "cpu/tuning.h"
#include "ops/masked_im2col/cpu/operators.h"

#include <algorithm>

#include "ops/masked_im2col/cpu/calls.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_im2col/cpu/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/masked_im2col/cpu/chunks-inl.h"
#include "ops/masked_im2col/cpu/step-inl.h"
#include "ops/masked_im2col/cpu/window-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

// A group of kernel elements is copied at once: up to four columns, one load, of up to four rows.
constexpr int64_t kColumns = 4;
constexpr int64_t kRows = 4;

// Kernel elements (i + r, j + k), r < rows, k < columns, of masks [begin, end) in one channel. Mask
// m's goes to to[(r*row_step + k)*stride + m - begin]. Kernels copy a group before they use it: the
// compiler has to expect that a vector store changes whatever it has only a reference to.
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
  const Problem p = call.p;
  const MaskTable masks = call.masks;
  for (int64_t r = 0; r < g.rows; ++r) {
    for (int64_t k = 0; k < g.columns; ++k) {
      const T* from = g.plane + (g.i + r) * p.width + g.j + k;
      T* to = g.to + (r * g.row_step + k) * g.stride - g.begin;
      for (int64_t m = begin; m < end; ++m) {
        const bool inside =
            p.HasRow(masks.top[m] + g.i + r) && p.HasColumn(masks.left[m] + g.j + k);
        to[m] = inside ? from[masks.corner[m]] : T{};
      }
    }
  }
}

#if HWY_TARGET != HWY_SCALAR

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

#if MLUOP_HAS_WINDOWS
// Step s, if its masks lie close together; false if not. C256 20x20 M200 k3, two threads, hot: in half
// 0.44 of the time; in float it is the stores that take the time, and gain by CopyWindow's prefetch.
template <int kCount, typename T>
HWY_INLINE bool CopyNearMasks(const Problem& p, const MaskTable& masks, const Group<T>& g,
                              int64_t s, int64_t channel) {
  const Step& step = masks.steps[s];
  const int64_t span = step.high - step.low + kCount;
  if (span > 2 * kNarrow<T> || !WindowReadable<T>(p, step, channel)) return false;
  const int64_t m = std::min(s * ForwardCall<T>::kStep, p.masks - ForwardCall<T>::kStep);
  const WindowRows<T> rows = {g.plane + step.low + g.i * p.width + g.j,
                              g.to + m - g.begin,
                              g.rows,
                              g.row_step,
                              g.stride,
                              masks.corner + m,
                              masks.top + m,
                              masks.left + m,
                              g.i,
                              g.j};
  span <= kNarrow<T> ? CopyWindow<kCount, false>(p, step, rows)
                     : CopyWindow<kCount, true>(p, step, rows);
  return true;
}
#endif  // MLUOP_HAS_WINDOWS

template <int kCount, typename T>
void CopySteps(const ForwardCall<T>& call, const Group<T>& group, int64_t channel) {
  constexpr int64_t kStep = ForwardCall<T>::kStep;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(StepTag<T>()));
  const Problem p = call.p;
  const MaskTable masks = call.masks;
  const Group<T> g = group;
  // The corners of any mask: true for all channels but the first and the last few.
  const bool readable =
      Readable<T>(p, {-p.kernel_h, p.height, -p.kernel_w, p.width, 0, 0, false}, channel);
  const int64_t last = (g.end + kStep - 1) / kStep;
  for (int64_t s = g.begin / kStep; s < last; ++s) {
    const Step& step = masks.steps[s];
    const int64_t begin = std::min(s * kStep, p.masks - kStep);
#if MLUOP_HAS_WINDOWS
    if (CopyNearMasks<kCount>(p, masks, g, s, channel)) continue;
#endif
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
#if HWY_TARGET == HWY_SCALAR
  static_cast<void>(channel);
  CopyElements(call, g, g.begin, g.end);
#else
  g.columns == 1   ? CopySteps<1>(call, g, channel)
  : g.columns == 2 ? CopySteps<2>(call, g, channel)
  : g.columns == 3 ? CopySteps<3>(call, g, channel)
                   : CopySteps<4>(call, g, channel);
#endif
}

// From the stage to data_col, whose kernel rows and columns are so many elements apart.
template <typename T>
HWY_INLINE void StreamGroup(const Group<T>& g, int64_t row_step, int64_t column_step, T* to) {
  for (int64_t r = 0; r < g.rows; ++r, to += row_step) {
    const T* from = g.to + r * g.row_step * g.stride;
    for (int64_t k = 0; k < g.columns; ++k) {
      WriteRow(from + k * g.stride, g.end - g.begin, to + k * column_step, true);
    }
  }
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
      if (call.stream) StreamGroup(g, p.kernel_w * p.masks, p.masks, out);
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

template <typename T>
void CopyItems(const ForwardCall<T>& call, int64_t begin, int64_t end) {
  call.direct() ? CopyChunks(call, begin, end) : CopyBlocks(call, begin, end);
}

void ForwardFloat(const ForwardCall<float>& call, int64_t begin, int64_t end) {
  CopyItems(call, begin, end);
}
void ForwardHalf(const ForwardCall<uint16_t>& call, int64_t begin, int64_t end) {
  CopyItems(call, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_im2col {
namespace {

HWY_EXPORT(ForwardFloat);
HWY_EXPORT(ForwardHalf);

template <typename T>
size_t ScratchBytes(const Problem& p) {
  ForwardCall<T> call = {};
  call.p = p;
  return call.direct() ? 0 : MaskTableBytes(p.masks, call.kStep);
}

template <typename T, class Kernel>
void Run(const Arguments& arguments, CpuContext& context, Kernel kernel) {
  ForwardCall<T> call = {};
  call.p = MakeProblem(arguments);
  call.mask_h = arguments.In<int32_t>("mask_h_idx");
  call.mask_w = arguments.In<int32_t>("mask_w_idx");
  call.feature = arguments.In<T>("feature");
  call.data_col = arguments.Out<T>("data_col");
  call.stream = arguments.Tensor("data_col").ByteCount() >= kStreamBytes;
  if (!call.direct()) {
    void* memory = context.Scratch(ScratchBytes<T>(call.p));
    call.masks =
        MakeMaskTable(call.p, call.mask_h, call.mask_w, call.kStep, memory, context.threads());
  }
  const int64_t items = call.items();
  const int64_t elements = call.p.channels * call.p.taps() * call.p.masks;
  context.threads().For(items, kGrain * items / elements + 1,
                        [&](int64_t begin, int64_t end, int) { kernel(call, begin, end); });
}

}  // namespace

mluOpStatus_t ForwardCpu(const Arguments& arguments, CpuContext& context) {
  if (arguments.Type() == MLUOP_DTYPE_FLOAT) {
    Run<float>(arguments, context, HWY_DYNAMIC_DISPATCH(ForwardFloat));
  } else {
    Run<uint16_t>(arguments, context, HWY_DYNAMIC_DISPATCH(ForwardHalf));
  }
  return MLUOP_STATUS_SUCCESS;
}

size_t ForwardWorkspaceSize(const Arguments& arguments) {
  return arguments.Type() == MLUOP_DTYPE_FLOAT
             ? WorkspaceFor(ScratchBytes<float>(MakeProblem(arguments)))
             : WorkspaceFor(ScratchBytes<uint16_t>(MakeProblem(arguments)));
}

}  // namespace mluop::masked_im2col
#endif  // HWY_ONCE
