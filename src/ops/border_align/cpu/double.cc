// SPDX-License-Identifier: Apache-2.0
// border_align on the CPU, implementation "double".
#include "cpu/plain_loops.h"
#include "ops/border_align/cpu/operators.h"

namespace mluop::border_align {
namespace {

// A sample's four neighbours, as offsets into the map, and their weights.
struct Sample {
  bool inside;
  int64_t offsets[4];
  double weights[4];

  // Without a branch, so that the compiler vectorizes the loops over channels.
  double Value(const double* map, int64_t c) const {
    double value = 0;
    value += weights[0] * map[offsets[0] + c];
    value += weights[1] * map[offsets[1] + c];
    value += weights[2] * map[offsets[2] + c];
    value += weights[3] * map[offsets[3] + c];
    return value;
  }
};

// Calls visit(index, Sample) for the samples of one border of a box, one after the other.
template <class Visit>
void ForEachSample(const Problem& p, const double* box, int border, const Visit& visit) {
  const bool horizontal = border == kTop || border == kBottom;
  const auto edge = MakeEdge(BoxOf<double>{box[0], box[1], box[2], box[3]}, border, p.pool_size);
  const auto pixel = [&](int row, int column) {
    return (int64_t{row} * p.w + column) * p.channels();
  };
  double position = edge.start;
  for (int32_t i = 0; i <= p.pool_size; ++i, position += edge.step) {
    const auto x = FindNeighbours(horizontal ? position : edge.fixed, p.w);
    const auto y = FindNeighbours(horizontal ? edge.fixed : position, p.h);
    visit(i, Sample{x.inside && y.inside,
                    {pixel(y.low, x.low), pixel(y.low, x.high), pixel(y.high, x.low),
                     pixel(y.high, x.high)},
                    {y.low_weight * x.low_weight, y.low_weight * x.high_weight,
                     y.high_weight * x.low_weight, y.high_weight * x.high_weight}});
  }
}

// Updates the maxima with the value(c) of a sample. The first sample always replaces them. Values go
// through a block on the stack: it aliases nothing, so that the compiler vectorizes their loop.
template <class Value>
void UpdateMaxima(int32_t sample, int64_t channels, Value value, double* output, int32_t* argmax) {
  constexpr int64_t kBlock = 64;
  double values[kBlock];
  for (int64_t first = 0; first < channels; first += kBlock) {
    const int64_t count = std::min(kBlock, channels - first);
    for (int64_t c = 0; c < count; ++c) values[c] = value(first + c);
    double* const best = output + first;
    int32_t* const winner = argmax + first;
    if (sample == 0) {
      std::copy_n(values, count, best);
      std::fill_n(winner, count, 0);
      continue;
    }
    // Branch-free: the outcome is unpredictable.
    for (int64_t c = 0; c < count; ++c) winner[c] = values[c] > best[c] ? sample : winner[c];
    for (int64_t c = 0; c < count; ++c) best[c] = values[c] > best[c] ? values[c] : best[c];
  }
}

// Pools one border of a box: `map` is its block of channels in the box's image.
void PoolBorder(const Problem& p, const double* box, int border, const double* map, double* output,
                int32_t* argmax) {
  ForEachSample(p, box, border, [&](int32_t i, const Sample& sample) {
    if (sample.inside) {
      const auto value = [=](int64_t c) { return sample.Value(map, c); };
      UpdateMaxima(i, p.c, value, output, argmax);
    } else {
      UpdateMaxima(
          i, p.c, [](int64_t) { return 0.0; }, output, argmax);
    }
  });
  CanonicalizeNans(output, p.c);
}

// Channels of a work item of backward. Each item computes the samples of all boxes again.
constexpr int kSliceChannels = 64;

// Adds the gradients of `channels` channels of one border of a box to `map`, sample by sample.
void ScatterBorder(const Problem& p, const double* box, int border, const double* gradient,
                   const int32_t* argmax, int64_t channels, double* map) {
  ForEachSample(p, box, border, [&](int32_t i, const Sample& sample) {
    for (int64_t c = 0; sample.inside && c < channels; ++c) {
      if (argmax[c] != i) continue;
      for (int k = 0; k < 4; ++k) map[sample.offsets[k] + c] += sample.weights[k] * gradient[c];
    }
  });
}

}  // namespace

mluOpStatus_t RunDoubleForward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const auto* input = call.arguments.In<double>("input");
  const auto* boxes = call.arguments.In<double>("boxes");
  auto* output = call.arguments.Out<double>("output");
  auto* argmax = call.arguments.Out<int32_t>("argmax_idx");
  call.context.threads().ForEach(int64_t{p.n} * p.k * kBorders,
                                 GrainFor(p.samples() * p.c * kBorders), [&](int64_t item, int) {
                                   const int64_t box = item / kBorders, border = item % kBorders;
                                   const double* map =
                                       input + box / p.k * p.pixels() * p.channels() + border * p.c;
                                   PoolBorder(p, boxes + box * 4, static_cast<int>(border), map,
                                              output + item * p.c, argmax + item * p.c);
                                 });
  return MLUOP_STATUS_SUCCESS;
}

// A worker owns slices of channels of a border and visits all boxes of the image in order.
mluOpStatus_t RunDoubleBackward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const auto* gradient = call.arguments.In<double>("grad_output");
  const auto* boxes = call.arguments.In<double>("boxes");
  const auto* argmax = call.arguments.In<int32_t>("argmax_idx");
  auto* map = call.arguments.Out<double>("grad_input");
  const ThreadPool& threads = call.context.threads();
  threads.For(p.elements(), kGrain,
              [&](int64_t begin, int64_t end, int) { std::fill_n(map + begin, end - begin, 0.0); });
  const int64_t slices = (p.c + kSliceChannels - 1) / kSliceChannels;
  const auto scatter = [&](int64_t image, int border, int64_t first) {
    const int64_t channels = std::min<int64_t>(kSliceChannels, p.c - first);
    double* own = map + image * p.pixels() * p.channels() + border * p.c + first;
    for (int64_t box = image * p.k; box < (image + 1) * p.k; ++box) {
      const int64_t at = (box * kBorders + border) * p.c + first;
      ScatterBorder(p, boxes + box * 4, border, gradient + at, argmax + at, channels, own);
    }
  };
  threads.ForEach(p.n * kBorders * slices, GrainFor(p.k * p.samples() * kSliceChannels),
                  [&](int64_t item, int) {
                    const int64_t borders = item / slices;
                    scatter(borders / kBorders, static_cast<int>(borders % kBorders),
                            item % slices * kSliceChannels);
                  });
  threads.For(p.elements(), kGrain,
              [&](int64_t begin, int64_t end, int) { CanonicalizeNans(map + begin, end - begin); });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::border_align
