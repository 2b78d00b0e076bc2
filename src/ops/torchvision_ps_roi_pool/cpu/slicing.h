// SPDX-License-Identifier: Apache-2.0
// Splits a call into slices. A slice is one bin and some channels of one image. A slice of the map
// is repacked to [pixel][channel], one band of rows at a time. Its pooled values or their gradients
// lie in the stage, [bin][position][channel]. No two slices share a plane of the map or an element
// of the stage.
#pragma once

#include <algorithm>

#include "cpu/context.h"
#include "cpu/tuning.h"
#include "ops/roi/cpu/repack.h"
#include "ops/torchvision_ps_roi_pool/cpu/roi_table.h"
#include "ops/torchvision_ps_roi_pool/cpu/tuning.h"

namespace mluop::torchvision_ps_roi_pool {

struct Slice {
  int64_t image, ph, pw, bin;
  int64_t first_channel, channels;  // of output_dim
  float* stage;                     // [position][stage_stride], from first_channel on
};

struct Slicing {
  int64_t slice;         // channels of a slice
  int64_t rows;          // of a band
  int64_t stage_stride;  // floats
  int64_t pixel_stride;

  int64_t StageFloats(const Problem& p) const { return p.bins() * p.rois * stage_stride; }
  int64_t BandFloats(const Problem& p) const { return rows * p.w * pixel_stride; }
};

// Returns `channels` limited to `max`, rounded down to whole vectors (at least one).
inline int64_t VectorsWithin(int64_t channels, int64_t max) {
  return std::min(channels, std::max(kMinSlice, max / kMinSlice * kMinSlice));
}

// Splits channels first: a bin in several bands costs more.
inline Slicing MakeSlicing(const CpuCall<Problem>& call, int64_t band_floats) {
  const Problem& p = call.p;
  Slicing slicing = {};
  const int64_t bins = p.n * p.bins(), threads = call.context.threads().num_threads();
  const int64_t wanted = std::max<int64_t>((2 * threads + bins - 1) / bins, 1);  // of each bin
  slicing.slice =
      VectorsWithin(p.output_dim, std::min(band_floats / p.pixels(), p.output_dim / wanted + 15));
  slicing.stage_stride = roi::WholeVectors(p.output_dim);
  slicing.pixel_stride = roi::WholeVectors(slicing.slice);
  slicing.rows = std::clamp<int64_t>(band_floats / (p.w * slicing.pixel_stride), 1, p.h);
  return slicing;
}

template <int64_t kBandFloats>
void DescribeBands(const CpuCall<Problem>& call, Plan& plan) {
  const Slicing slicing = MakeSlicing(call, kBandFloats);
  plan.Add("slices of one bin and %" PRId64 " channels", slicing.slice);
  plan.Add("bands of %" PRId64 " rows", slicing.rows);
}

// The implementation "bands" of both directions: a call, split into slices.
class Bands {
 public:
  // Fills the table. Without memory it only computes the bytes.
  Bands(const CpuCall<Problem>& call, int64_t band_floats, void* memory)
      : p(call.p),
        slicing(MakeSlicing(call, band_floats)),
        scratch(memory),
        table(p, scratch),
        threads_(call.context.threads()),
        stage_(scratch.Take<float>(slicing.StageFloats(p))),
        bands_(scratch.Take<float>(threads_.num_threads() * slicing.BandFloats(p))) {
    if (memory != nullptr) table.Fill(p, call.arguments.In<float>("rois"), threads_);
  }

  // Calls body(slice, band) for all slices; `band` is the worker's scratch. If a slice has
  // whole cache lines, so does a worker's range of the stage.
  template <class Body>
  void ForEachSlice(const Body& body) const {
    const int64_t slices = (p.output_dim + slicing.slice - 1) / slicing.slice;
    const int64_t work = (p.pixels() + p.rois / p.n) * slicing.slice;
    threads_.ForEach(p.n * p.bins() * slices, kGrain / work + 1, [&](int64_t i, int worker) {
      body(SliceAt(i / slices, i % slices * slicing.slice),
           bands_ + worker * slicing.BandFloats(p));
    });
  }

  // Calls body(RoI, stage) for all RoIs of the table; `stage` is the RoI's first bin.
  template <class Body>
  void ForEachRoi(const Body& body) const {
    threads_.ForEach(table.size(), kGrain / p.channels() + 1, [&](int64_t i, int) {
      body(table.Roi(i), stage_ + i * slicing.stage_stride);
    });
  }

  // Floats from a bin of a RoI in the stage to its next one.
  int64_t BinStride() const { return p.rois * slicing.stage_stride; }

  const Problem& p;
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
            std::min(slicing.slice, p.output_dim - channel),
            stage_ + bin * BinStride() + channel};
  }

  ThreadPool& threads_;
  float* stage_;
  float* bands_;  // of all workers
};

template <int64_t kBandFloats>
size_t BandBytes(const CpuCall<Problem>& call) {
  return Bands(call, kBandFloats, nullptr).scratch.bytes();
}

}  // namespace mluop::torchvision_ps_roi_pool
