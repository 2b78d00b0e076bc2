// SPDX-License-Identifier: Apache-2.0
// How a call is cut into slices: one bin and some channels of one image. Its part of the map is
// regrouped to [pixel][channel], some rows at a time, a band; its pooled values or their gradients
// stand in the stage, [bin][place][channel]. No two slices share a plane of the map or an element
// of the stage.
#pragma once

#include <algorithm>

#include "cpu/scratch.h"
#include "cpu/tuning.h"
#include "cpu/vectors.h"
#include "ops/torchvision_ps_roi_pool/cpu/roi_table.h"

namespace mluop::torchvision_ps_roi_pool {

// A band is at most this long: a quarter of a usual L2 forward, half of it backward. On the map
// [1,3969,38,63] each is faster by a tenth than the other's.
inline constexpr int64_t kForwardBand = int64_t{1} << 17;
inline constexpr int64_t kBackwardBand = int64_t{1} << 18;
// The stage is at most 16 MiB, if 16 channels are no more.
inline constexpr int64_t kStageFloats = int64_t{1} << 22;
inline constexpr int64_t kLeastSlice = 16;
// With fewer channels a vector holds nothing.
inline constexpr int64_t kLeastVector = 3;

struct Slice {
  int64_t image, ph, pw, bin;
  int64_t first_channel, channels;  // of output_dim
  float* stage;                     // [place][stage_stride], from first_channel on
};

struct Cut {
  int64_t chunk;         // channels that are staged at a time
  int64_t slice;         // channels of a slice, a part of a chunk
  int64_t rows;          // of a band
  int64_t stage_stride;  // floats
  int64_t pixel_stride;
  bool regroups;  // a row fits into a band, and there are channels enough

  int64_t StageFloats(const Problem& p) const { return p.bins() * p.rois * stage_stride; }
  int64_t BandFloats(const Problem& p) const { return rows * p.w * pixel_stride; }
};

// The largest part of `channels` that is whole vectors and not above `most`, if that holds one.
inline int64_t PartOf(int64_t channels, int64_t most) {
  return std::min(channels, std::max(kLeastSlice, most / kLeastSlice * kLeastSlice));
}

// Results do not depend on the cut. Channels are cut first: a bin in several bands costs more.
inline Cut MakeCut(const Problem& p, int64_t band_floats, int num_threads) {
  Cut cut = {};
  cut.chunk = PartOf(p.output_dim, kStageFloats / std::max<int64_t>(p.bins() * p.rois, 1));
  const int64_t bins = p.n * p.bins();
  const int64_t wanted = std::max<int64_t>((2 * num_threads + bins - 1) / bins, 1);  // of each bin
  cut.slice = PartOf(cut.chunk, std::min(band_floats / p.pixels(), cut.chunk / wanted + 15));
  cut.stage_stride = WholeVectors(cut.chunk);
  cut.pixel_stride = WholeVectors(cut.slice);
  cut.rows = std::clamp<int64_t>(band_floats / (p.w * cut.pixel_stride), 1, p.h);
  cut.regroups = p.output_dim >= kLeastVector && cut.BandFloats(p) <= band_floats;
  return cut;
}

// Stage and bands, in floats; none where nothing is regrouped.
inline int64_t MemoryFloats(const Problem& p, const Cut& cut, int num_threads) {
  return cut.regroups ? cut.StageFloats(p) + num_threads * cut.BandFloats(p) : 0;
}

// Whether the elements of all bins are worth regrouping the map. (Forward on [1,3969,38,63]: from a
// fifth of its elements on; on [1,392,14,14]: from half of them.)
inline bool IsWorthRegrouping(const Problem& p, const Cut& cut, int64_t bin_elements) {
  return cut.regroups && bin_elements >= p.map_elements() / 4;
}

// Calls body(slice, worker) for all slices of the chunk from `first_channel` on. A worker's share
// of the stage is whole cache lines where a slice is.
template <class Body>
void ForEachSlice(const Problem& p, const Cut& cut, int64_t first_channel, float* stage,
                  ThreadPool& threads, const Body& body) {
  const int64_t channels = std::min(cut.chunk, p.output_dim - first_channel);
  const int64_t slices = (channels + cut.slice - 1) / cut.slice;
  const int64_t work = (p.pixels() + p.rois / p.n) * cut.slice;
  threads.For(p.n * p.bins() * slices, kGrain / work + 1,
              [&](int64_t begin, int64_t end, int worker) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t c = i % slices * cut.slice;
                  const int64_t bin = i / slices % p.bins();
                  float* own = stage + bin * p.rois * cut.stage_stride + c;
                  body(Slice{i / slices / p.bins(), bin / p.pooled_w, bin % p.pooled_w, bin,
                             first_channel + c, std::min(cut.slice, channels - c), own},
                       worker);
                }
              });
}

}  // namespace mluop::torchvision_ps_roi_pool
