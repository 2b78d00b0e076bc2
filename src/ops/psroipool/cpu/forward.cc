// SPDX-License-Identifier: Apache-2.0
// psroipool forward on the CPU. A bin's channels lie G*G apart in the map: read so, each costs a
// cache line. Each worker regroups a slice of the map band by band (band.h), in a size that stays in
// its L2, and sums the bins from there with vectors over the channels: no two share anything. A
// small map with many rois every worker regroups whole, for rois of its own.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "cpu/tuning.h"
#include "ops/psroipool/cpu/band.h"
#include "ops/psroipool/cpu/bin_table.h"
#include "ops/psroipool/cpu/operators.h"
#include "ops/psroipool/cpu/tuning.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psroipool/cpu/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/psroipool/cpu/pool-inl.h"
#include "ops/psroipool/cpu/regroup-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

// What is added to a sum and changes nothing, not even the sign of a zero.
void FillNeutral(const Band& band, float* data) {
  for (int64_t row = band.first_row; row < band.last_row; ++row, data += band.row_stride) {
    std::fill_n(data + band.neutral(), band.pixel_stride, -0.0f);
  }
}

// The slice's channels of its bins, of some rois. `memory` is for `rows` rows of the map at a time,
// and where there are strips for the sums of the rois and kSparePixels.
void PoolSlice(const Pooling& pooling, const Slice& slice, int64_t rows, float* memory) {
  const Problem& p = pooling.p;
  const Band all = MakeBand(p, slice, 0, rows);
  FillNeutral(all, memory);
  const Bins means = {pooling.output + slice.first_channel, p.channels(), p.output_dim};
  const Bins sums = {memory + all.floats() - slice.first_bin * all.bin_stride, all.pixel_stride,
                     all.bin_stride};
  const auto pool = [&](const auto& regroup) HWY_ATTR {
    for (int64_t row = 0; row < p.rows(); row += rows) {
      const Band band = MakeBand(p, slice, row, std::min(row + rows, p.rows()));
      regroup(band);
      PoolBand(pooling, band, memory, {sums, means});
    }
  };
  if (!pooling.sparse) {
    return pool([&](const Band& band) HWY_ATTR { RegroupRows(p, pooling.input, band, memory); });
  }
  const int64_t nowhere = all.floats() + p.rois * all.pixel_stride;
  Reach reach(slice, memory + nowhere + all.pixel_stride, nowhere);
  pool([&](const Band& band) HWY_ATTR { RegroupReach(pooling, band, reach, memory); });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psroipool {
namespace {

HWY_EXPORT(PoolSlice);

struct Tensors {
  const float* input;
  const float* rois;
  float* output;
  int32_t* mapping;
};

// How the bins and channels are cut into slices.
struct Cut {
  int64_t rows;                        // of a band: from the shape alone, for the order of the sums
  int64_t bins, channels;              // of a slice
  int64_t bin_slices, channel_slices;  // how many

  Slice At(const Problem& p, int64_t i) const {
    const int64_t bin = i / channel_slices * bins;
    const int64_t channel = i % channel_slices * channels;
    return {bin, std::min(bin + bins, p.bins()), channel,
            std::min(channels, p.output_dim - channel)};
  }

  // A slice's memory: pixels of a band and, where there are strips, of each roi the sums.
  int64_t Pixels(const Problem& p) const {
    return rows * (int64_t{p.w} + 1) + (HasStrips(p, rows) ? p.rois + kSparePixels : 0);
  }
  int64_t MemoryOf(const Problem& p, const Slice& slice) const {
    const int64_t before =
        slice.first_bin * channel_slices + slice.first_channel / channels * slice.bins();
    return before * Pixels(p) * WholeVectors(channels);
  }
};

// Channels are cut such that no vector becomes two: into a divisor of the number of vectors.
int64_t ChannelSlices(int64_t vectors, int64_t wanted) {
  int64_t slices = std::min(wanted, vectors);
  while (vectors % slices != 0) ++slices;
  return slices;
}

// Channels are cut first: every slice reads the whole of its channels, a slice of bins the lines of
// all of them.
Cut MakeCut(const Problem& p, int64_t workers) {
  const int64_t vectors = (int64_t{p.output_dim} + 15) / 16;
  const auto channels = [&](int64_t slices) { return (p.output_dim + slices - 1) / slices; };
  const auto whole = [&](int64_t slices) { return Slice{0, p.bins(), 0, channels(slices)}; };
  int64_t slices = 1;
  while (slices < vectors && BandFloats(p, 1, whole(slices)) > kForwardBand) {
    slices = ChannelSlices(vectors, slices + 1);
  }
  Cut cut;
  cut.rows = RowsWithin(p, whole(slices), kForwardBand);
  cut.channel_slices = ChannelSlices(vectors, std::max(slices, workers));
  cut.channels = channels(cut.channel_slices);
  const int64_t parts = (workers + cut.channel_slices - 1) / cut.channel_slices;
  cut.bins = std::max((p.bins() + parts - 1) / parts, std::min(kLeastBins, p.bins()));
  cut.bin_slices = (p.bins() + cut.bins - 1) / cut.bins;
  return cut;
}

void ZeroEmpty(const Problem& p, const RoiBins& roi, float* output) {
  for (const Span& row : roi.rows) {
    for (const Span& column : roi.columns) {
      if (row.size() == 0 || column.size() == 0) std::fill_n(output, p.output_dim, 0.0f);
      output += p.output_dim;
    }
  }
}

// Writes what does not depend on the input: the bins, the mapping, and zeros where a bin is empty.
// Returns the pixels of all bins.
int64_t WriteBins(const Problem& p, const Tensors& t, BinTable& table, int64_t begin, int64_t end) {
  int32_t* first = t.mapping + begin * p.channels();
  for (int64_t bin = 0, i = 0; bin < p.bins(); ++bin) {
    for (int64_t c = 0; c < p.output_dim; ++c) first[i++] = static_cast<int32_t>(p.Channel(bin, c));
  }
  int64_t pixels = 0;
  for (int64_t r = begin; r < end; ++r) {
    pixels += table.Fill(p, t.rois, r);
    if (table[r].has_empty()) ZeroEmpty(p, table[r], t.output + r * p.channels());
    if (r == begin) continue;
    std::memcpy(t.mapping + r * p.channels(), first,
                sizeof(int32_t) * static_cast<size_t>(p.channels()));
  }
  return pixels;
}

// Channels that are read together: each is a chain of additions, which alone would wait for every
// one.
constexpr int64_t kTogether = 8;

// The means of kCount channels of one bin, from the map itself.
template <int64_t kCount>
void WriteMeans(const Problem& p, const float* channel, Span rows, Span columns, float* output) {
  double sums[kCount] = {};
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    for (int64_t w = columns.begin; w < columns.end; ++w) {
      const float* pixel = channel + (h * p.w + w) * p.channels();
      for (int64_t k = 0; k < kCount; ++k) sums[k] += pixel[k * p.bins()];
    }
  }
  const auto area = static_cast<double>(rows.size() * columns.size());
  for (int64_t k = 0; k < kCount; ++k) output[k] = static_cast<float>(sums[k] / area);
}

void PoolStrided(const Problem& p, const BinTable& table, const Tensors& t, int64_t begin,
                 int64_t end) {
  float* output = t.output + begin * p.channels();
  for (int64_t r = begin; r < end; ++r) {
    const RoiBins roi = table[r];
    const float* channel = t.input + int64_t{roi.image} * p.h * p.w * p.channels();
    for (int ph = 0; ph < p.group; ++ph) {
      for (int pw = 0; pw < p.group; ++pw, ++channel, output += p.output_dim) {
        if (roi.rows[ph].size() == 0 || roi.columns[pw].size() == 0) continue;
        int64_t c = 0;
        for (; c + kTogether <= p.output_dim; c += kTogether) {
          WriteMeans<kTogether>(p, channel + c * p.bins(), roi.rows[ph], roi.columns[pw],
                                output + c);
        }
        for (; c < p.output_dim; ++c) {
          WriteMeans<1>(p, channel + c * p.bins(), roi.rows[ph], roi.columns[pw], output + c);
        }
      }
    }
  }
}

void PoolRegrouped(const Problem& p, const BinTable& table, const Tensors& t, int64_t work,
                   bool sparse, float* data, ThreadPool& threads) {
  const auto pool = HWY_DYNAMIC_DISPATCH(PoolSlice);
  const Cut cut = MakeCut(p, std::clamp<int64_t>(work / kGrain, 1, threads.num_threads()));
  threads.For(cut.bin_slices * cut.channel_slices, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const Slice slice = cut.At(p, i);
      pool({p, table, t.input, t.output, 0, p.rois, sparse}, slice, cut.rows,
           data + cut.MemoryOf(p, slice));
    }
  });
}

// Which way a call goes, as far as its sizes say: the workspace getter knows no more.
struct Plan {
  // Elements are read where they are, whatever the rois: where there are few channels, or where a row
  // of the map, whose channels become whole vectors, is too long to have it in scratch.
  bool strided;
  int64_t slice_floats;  // of all slices together, however they are cut
  int64_t copy_floats;  // of a copy; 0: the map is too large for one, or the rois too few to pay it
  bool reaches;         // what no roi reads may be left out

  size_t ScratchBytes(const Problem& p) const {
    const int64_t floats = strided ? 0 : std::max(slice_floats, kMostCopies * copy_floats);
    return BinTable::Bytes(p) + sizeof(float) * static_cast<size_t>(floats);
  }
};

Plan MakePlan(const Problem& p) {
  const Cut cut = MakeCut(p, 1);
  const int64_t outputs = p.rois * p.channels(), map = p.map_elements();
  const int64_t floats = cut.Pixels(p) * p.bins() * WholeVectors(p.output_dim);
  const bool copies = !HasStrips(p, cut.rows) && cut.channel_slices == 1 && outputs >= map;
  const bool strided = (p.group > 1 && p.output_dim < kLeastVector) ||
                       floats > std::max(kMostFloats, 2 * (map + outputs));
  const bool reaches = cut.rows < p.rows() && p.bins() >= kLeastReachBins;
  return {strided, floats, copies ? floats : 0, reaches};
}

void PoolFromCopies(const Problem& p, const Plan& plan, BinTable& table, const Tensors& t,
                    float* data, ThreadPool& threads) {
  const auto pool = HWY_DYNAMIC_DISPATCH(PoolSlice);
  const int64_t most = std::min<int64_t>({kMostCopies, threads.num_threads(), p.rois});
  const int64_t work = p.rois * p.channels() + p.map_elements();
  const int64_t workers = std::clamp<int64_t>(work / kGrain, 1, most);
  threads.For(workers, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * p.rois / workers, last = (i + 1) * p.rois / workers;
      WriteBins(p, t, table, first, last);
      pool({p, table, t.input, t.output, first, last, false}, {0, p.bins(), 0, p.output_dim},
           p.rows(), data + i * plan.copy_floats);
    }
  });
}

}  // namespace

size_t ForwardScratch(const Problem& p) { return MakePlan(p).ScratchBytes(p); }

mluOpStatus_t ForwardCpu(const Arguments& a, CpuContext& context) {
  const Problem p = MakeProblem(a, a.Float("spatial_scale"));
  const Tensors t = {a.In<float>("input"), a.In<float>("rois"), a.Out<float>("output"),
                     a.Out<int32_t>("mapping_channel")};
  const Plan plan = MakePlan(p);
  char* scratch = static_cast<char*>(context.Scratch(plan.ScratchBytes(p)));
  BinTable table(p, scratch);
  auto* const data = reinterpret_cast<float*>(scratch + BinTable::Bytes(p));
  ThreadPool& threads = context.threads();
  if (!plan.strided && plan.copy_floats > 0) {
    PoolFromCopies(p, plan, table, t, data, threads);
    return MLUOP_STATUS_SUCCESS;
  }
  std::atomic<int64_t> pixels = 0;
  threads.For(p.rois, kGrain / p.channels() + 1, [&](int64_t begin, int64_t end, int) {
    pixels += WriteBins(p, t, table, begin, end);
  });
  const int64_t elements = pixels * p.output_dim;
  const int64_t grain = kGrain * p.rois / (elements + p.rois * p.bins()) + 1;
  const int64_t strided_cost = plan.reaches ? kStridedCostOfReach : kStridedCost;
  if (plan.strided || strided_cost * elements < p.map_elements()) {
    threads.For(p.rois, grain,
                [&](int64_t begin, int64_t end, int) { PoolStrided(p, table, t, begin, end); });
  } else {
    const bool sparse = plan.reaches && elements <= kMostReads * p.map_elements();
    PoolRegrouped(p, table, t, elements + p.map_elements(), sparse, data, threads);
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::psroipool
#endif  // HWY_ONCE
