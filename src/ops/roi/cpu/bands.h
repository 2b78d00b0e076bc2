// SPDX-License-Identifier: Apache-2.0
// The implementation "bands" of position-sensitive pooling on NCHW tensors. A call is split into slices:
// one bin and some channels of one image. A slice of the map is repacked to [pixel][channel], one
// band of rows at a time. Its pooled values or their gradients lie in the stage,
// [bin][position][channel]. No two slices share a plane of the map or an element of the stage.
#pragma once

#include <algorithm>

#include "cpu/context.h"
#include "cpu/tuning.h"
#include "ops/roi/cpu/repack.h"
#include "ops/roi/cpu/roi_table.h"

namespace mluop::roi {

struct Slice {
  int64_t image, ph, pw, bin;
  int64_t first_channel, channels;  // of output_dim
  float* stage;                     // [position][stage_stride], from first_channel on
};

struct Slicing {
  int64_t channels;  // of a slice
  int64_t rows;      // of a band
  int64_t pixel_stride;
  int64_t band;          // floats
  int64_t stage_stride;  // floats of a RoI
  int64_t bin_stride;    // of the stage
  int64_t totals;        // distance of a bin's total from its partial sum; 0: no bin needs both
};

// Splits channels first: a bin in several bands costs more. A bin's stage has an odd number of cache
// lines: with 160 lines, the bins of a RoI share two sets of the L1. Backward on 392x14x14 with 320
// RoIs then takes 1.5x the time (Zen 5, 2 threads).
inline Slicing MakeSlicing(const Planes& p, int num_threads, Sum sum) {
  const int64_t floats = sum == Sum::kGradients ? kBackwardBand : kForwardBand;
  const int64_t bins = p.n * p.bins();
  const int64_t wanted = std::max<int64_t>((2 * num_threads + bins - 1) / bins, 1);  // of each bin
  const int64_t most = std::min(floats / p.pixels(), p.output_dim / wanted + 15);
  Slicing s = {};
  s.channels = std::min(p.output_dim, std::max(kMinSlice, most / kMinSlice * kMinSlice));
  s.pixel_stride = WholeVectors(s.channels);
  s.rows = std::clamp<int64_t>(floats / (p.w * s.pixel_stride), 1, p.h);
  s.band = s.rows * p.w * s.pixel_stride;
  s.stage_stride = WholeVectors(p.output_dim);
  s.bin_stride = WholeLines(p.rois * s.stage_stride) | 16;
  const bool carries_totals = sum == Sum::kNested && s.rows < p.h && p.h > kPartialRows;
  s.totals = carries_totals ? p.bins() * s.bin_stride : 0;
  return s;
}

class Bands {
 public:
  Bands(const Planes& planes, const ThreadPool& threads, Sum kind, void* memory)
      : p(planes),
        sum(kind),
        slicing(MakeSlicing(p, threads.num_threads(), sum)),
        scratch(memory),
        table(p, scratch),
        threads_(threads),
        stage_(scratch.Take<float>(p.bins() * slicing.bin_stride + slicing.totals)),
        bands_(scratch.Take<float>(threads.num_threads() * WorkerFloats())) {}

  // Calls body(slice, band) for all slices; `band` is the worker's scratch. If a slice has
  // whole cache lines, so does a worker's range of the stage.
  template <class Body>
  void ForEachSlice(const Body& body) const {
    const int64_t slices = (p.output_dim + slicing.channels - 1) / slicing.channels;
    const int64_t work = (p.pixels() + p.rois / p.n) * slicing.channels;
    threads_.ForEach(p.n * p.bins() * slices, kGrain / work + 1, [&](int64_t i, int worker) {
      body(SliceAt(i / slices, i % slices * slicing.channels), bands_ + worker * WorkerFloats());
    });
  }

  // Calls body(RoI, stage) for all RoIs of the table; `stage` is the RoI's first bin.
  template <class Body>
  void ForEachRoi(const Body& body) const {
    threads_.ForEach(table.size(), kGrain / p.channels() + 1, [&](int64_t i, int) {
      body(table.Roi(i), stage_ + i * slicing.stage_stride);
    });
  }

  // Backward: whether a worker has a second band, of the partial sum.
  bool HasPartials() const { return sum == Sum::kGradients && p.rois > kPartialRois; }

  const Planes p;
  const Sum sum;
  const Slicing slicing;
  ScratchArrays scratch;
  RoiTable table;

 private:
  // `plane` is a bin of an image, counted through all images.
  Slice SliceAt(int64_t plane, int64_t channel) const {
    const int64_t bin = plane % p.bins();
    return {plane / p.bins(),
            bin / p.pooled_w,
            bin % p.pooled_w,
            bin,
            channel,
            std::min(slicing.channels, p.output_dim - channel),
            stage_ + bin * slicing.bin_stride + channel};
  }
  int64_t WorkerFloats() const { return (HasPartials() ? 2 : 1) * slicing.band; }

  const ThreadPool& threads_;
  float* stage_;
  float* bands_;  // of all workers
};

// Writes output: [R, O, bins], and where `mapping` is not NULL the channel of every output in the map.
void PoolBands(const Bands& bands, const float* input, float* output, int32_t* mapping);

// Writes grad_input: the gradients of Sum::kGradients.
void SumBands(const Bands& bands, const float* grad_output, float* grad_input);

// ---- the functions of a CpuImplementation; a Problem converts to Planes ----

template <Sum kSum, class Problem>
size_t BandBytes(const CpuCall<Problem>& call) {
  return Bands(call.p, call.context.threads(), kSum, nullptr).scratch.bytes();
}

template <Sum kSum, class Problem>
void DescribeBands(const CpuCall<Problem>& call, Plan& plan) {
  const Slicing slicing = MakeSlicing(call.p, call.context.threads().num_threads(), kSum);
  plan.Add("slices of one bin and %" PRId64 " channels", slicing.channels);
  plan.Add("bands of %" PRId64 " rows", slicing.rows);
}

// Returns the bands of a call with the table of its RoIs.
template <Sum kSum, class Problem>
Bands FillBands(const CpuCall<Problem>& call, void* scratch) {
  Bands bands(call.p, call.context.threads(), kSum, scratch);
  bands.table.Fill(call.p, call.arguments.template In<float>("rois"), call.context.threads());
  return bands;
}

// Forward: returns true if a pixel fills a vector, a row fits into a band, and the bins have enough
// pixels to justify repacking the map.
template <Sum kSum, class Problem>
bool ShouldUseBands(const CpuCall<Problem>& call) {
  const Planes p = call.p;
  if (p.map_elements() == 0 || p.output_dim < kMinVector) return false;
  if (MakeSlicing(p, call.context.threads().num_threads(), kSum).band > kForwardBand) return false;
  const float* rois = call.arguments.template In<float>("rois");
  return BinsHavePixels(call.p, rois, p.n * p.bins() * p.pixels() / kDirectCost);
}

inline constexpr std::string_view kBandsWhen =
    "at least 3 channels, a row fits into a band, and the bins have at least 1/4 of the elements "
    "of "
    "the map";

}  // namespace mluop::roi
