// SPDX-License-Identifier: Apache-2.0
// psroipool forward on the CPU. The channels of a bin lie G*G apart in the map: a strided read costs a
// cache line per element. So each worker repacks a slice of the map band by band (band.h), in a
// size that stays in its L2. It sums the bins from there with vectors over the channels. If the map
// is small, every worker repacks a copy of it and pools a slice of the RoIs.
#include <algorithm>
#include <cstring>

#include "cpu/tuning.h"
#include "ops/psroipool/cpu/bin_table.h"
#include "ops/psroipool/cpu/operators.h"
#include "ops/psroipool/cpu/tuning.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psroipool/cpu/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/psroipool/cpu/pool-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool::HWY_NAMESPACE {

// Pools the slice of some RoIs. `memory` holds a band of `rows` rows of the map. Where sums are
// carried from band to band, it also holds the partial and total sums of all RoIs.
void PoolSlice(const Pooling& pooling, const Slice& slice, int64_t rows, float* memory) {
  const Problem& p = pooling.p;
  const Band all = MakeBand(p, slice, 0, rows);
  for (int64_t row = 0; row < rows; ++row) {  // -0.0f: the additive identity
    std::fill_n(memory + row * all.row_stride + all.padding(), all.pixel_stride, -0.0f);
  }
  const PooledBins pooled = {pooling.output + slice.first_channel, memory + all.floats(),
                             p.rois * all.pixel_stride};
  for (int64_t row = 0; row < p.rows(); row += rows) {
    const Band band = MakeBand(p, slice, row, std::min(row + rows, p.rows()));
    RepackRows(p, pooling.input, band, memory);
    blocks::ForEachChannelBlock<4>(slice.channels, [&](const auto& block, int64_t c) HWY_ATTR {
      PoolRois(block, c, pooling, band, memory, pooled);
    });
  }
}

}  // namespace mluop::psroipool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psroipool {
namespace {

HWY_EXPORT(PoolSlice);

// The division of bins and channels into slices.
struct Slicing {
  int64_t rows;                        // of a band
  int64_t bins, channels;              // of a slice
  int64_t bin_slices, channel_slices;  // numbers of slices

  Slice At(const Problem& p, int64_t i) const {
    const int64_t bin = i / channel_slices * bins;
    const int64_t channel = i % channel_slices * channels;
    return {bin, std::min(bin + bins, p.bins()), channel,
            std::min(channels, p.output_dim - channel)};
  }

  // Scratch carries a bin's sum where the bin may have several bands or several partial sums.
  bool CarriesSums(const Problem& p) const { return rows < p.rows() || p.h > kPartialRows; }

  // Pixels of a slice's memory: the band, and per RoI a partial sum and a total.
  int64_t Pixels(const Problem& p) const {
    return rows * (int64_t{p.w} + 1) + (CarriesSums(p) ? 2 * p.rois : 0);
  }
  int64_t MemoryOf(const Problem& p, const Slice& slice) const {
    const int64_t before =
        slice.first_bin * channel_slices + slice.first_channel / channels * slice.bins();
    return before * Pixels(p) * roi::WholeVectors(channels);
  }
  // Of all slices together; the same for any number of workers.
  int64_t Floats(const Problem& p) const {
    return Pixels(p) * p.bins() * roi::WholeVectors(p.output_dim);
  }
};

// Returns the smallest divisor of `vectors` that is at least min(wanted, vectors): no slice of
// channels splits a vector.
int64_t ChannelSlices(int64_t vectors, int64_t wanted) {
  int64_t slices = std::min(wanted, vectors);
  while (vectors % slices != 0) ++slices;
  return slices;
}

// Splits channels first: a slice of channels reads whole cache lines of them, a slice of bins reads
// the lines of all bins.
Slicing MakeSlicing(const Problem& p, int64_t workers) {
  const int64_t vectors = (int64_t{p.output_dim} + 15) / 16;
  const auto channels = [&](int64_t slices) { return (p.output_dim + slices - 1) / slices; };
  const auto whole = [&](int64_t slices) { return Slice{0, p.bins(), 0, channels(slices)}; };
  int64_t slices = 1;
  while (slices < vectors && BandFloats(p, 1, whole(slices)) > kForwardBand) {
    slices = ChannelSlices(vectors, slices + 1);
  }
  Slicing slicing;
  slicing.rows = RowsWithin(p, whole(slices), kForwardBand);
  slicing.channel_slices = ChannelSlices(vectors, std::max(slices, workers));
  slicing.channels = channels(slicing.channel_slices);
  const int64_t wanted = (workers + slicing.channel_slices - 1) / slicing.channel_slices;
  slicing.bins = std::max((p.bins() + wanted - 1) / wanted, std::min(kMinBins, p.bins()));
  slicing.bin_slices = (p.bins() + slicing.bins - 1) / slicing.bins;
  return slicing;
}

Slicing SlicingOf(const CpuCall<Problem>& call) {
  const Problem& p = call.p;
  const int64_t work = p.rois * p.channels() + p.map_elements();
  return MakeSlicing(p,
                     std::clamp<int64_t>(work / kGrain, 1, call.context.threads().num_threads()));
}

// Writes the bin table, the mapping, and zeros for empty bins.
void WriteBins(const Problem& p, const Tensors& t, BinTable& table, int64_t begin, int64_t end) {
  int32_t* first = t.mapping + begin * p.channels();
  for (int64_t bin = 0, i = 0; bin < p.bins(); ++bin) {
    for (int64_t c = 0; c < p.output_dim; ++c) first[i++] = static_cast<int32_t>(p.Channel(bin, c));
  }
  for (int64_t r = begin; r < end; ++r) {
    table.Fill(p, t.rois, r);
    if (table[r].has_empty()) {
      std::fill_n(t.output + r * p.channels(), p.channels(), 0.0f);
    }
    if (r == begin) continue;
    std::memcpy(t.mapping + r * p.channels(), first,
                sizeof(int32_t) * static_cast<size_t>(p.channels()));
  }
}

// Returns the scratch: the table, and the slices of every copy of the map.
TableScratch<float> SliceScratch(const Problem& p, int64_t copies, void* memory) {
  return {p, copies * MakeSlicing(p, 1).Floats(p), memory};
}
size_t SliceBytes(const Problem& p, int64_t copies) {
  return SliceScratch(p, copies, nullptr).arrays.bytes();
}

// ---- replicated ----

bool CanReplicate(const Problem& p) {
  const Slicing slicing = MakeSlicing(p, 1);
  return (p.group == 1 || p.output_dim >= kMinVector) && !slicing.CarriesSums(p) &&
         slicing.channel_slices == 1 && p.rois * p.channels() >= p.map_elements();
}

mluOpStatus_t RunReplicated(const CpuCall<Problem>& call, void* scratch) {
  const Problem& p = call.p;
  const Tensors t(call.arguments);
  TableScratch<float> own = SliceScratch(p, kMaxReplicas, scratch);
  const auto pool = HWY_DYNAMIC_DISPATCH(PoolSlice);
  ThreadPool& threads = call.context.threads();
  const int64_t most = std::min<int64_t>({kMaxReplicas, threads.num_threads(), p.rois});
  const int64_t work = p.rois * p.channels() + p.map_elements();
  const int64_t workers = std::clamp<int64_t>(work / kGrain, 1, most);
  const int64_t floats = MakeSlicing(p, 1).Floats(p);
  threads.ForEach(workers, 1, [&](int64_t i, int) {
    const int64_t first = i * p.rois / workers, last = (i + 1) * p.rois / workers;
    WriteBins(p, t, own.table, first, last);
    pool({p, own.table, t.input, t.output, first, last}, {0, p.bins(), 0, p.output_dim}, p.rows(),
         own.elements + i * floats);
  });
  return MLUOP_STATUS_SUCCESS;
}

// ---- bands ----

// Returns false if one padded row would exceed the scratch limit.
bool CanBand(const Problem& p) {
  return (p.group == 1 || p.output_dim >= kMinVector) &&
         MakeSlicing(p, 1).Floats(p) <=
             std::max(kMaxFloats, 2 * (p.map_elements() + p.rois * p.channels()));
}

mluOpStatus_t RunBands(const CpuCall<Problem>& call, void* scratch) {
  const Problem& p = call.p;
  const Tensors t(call.arguments);
  TableScratch<float> own = SliceScratch(p, 1, scratch);
  ThreadPool& threads = call.context.threads();
  threads.For(p.rois, kGrain / p.channels() + 1,
              [&](int64_t begin, int64_t end, int) { WriteBins(p, t, own.table, begin, end); });
  const auto pool = HWY_DYNAMIC_DISPATCH(PoolSlice);
  const Slicing slicing = SlicingOf(call);
  threads.ForEach(slicing.bin_slices * slicing.channel_slices, 1, [&](int64_t i, int) {
    const Slice slice = slicing.At(p, i);
    pool({p, own.table, t.input, t.output, 0, p.rois}, slice, slicing.rows,
         own.elements + slicing.MemoryOf(p, slice));
  });
  return MLUOP_STATUS_SUCCESS;
}

void DescribeBands(const CpuCall<Problem>& call, Plan& plan) {
  const Slicing slicing = SlicingOf(call);
  plan.Add("slices %" PRId64 " of %" PRId64 " bins and %" PRId64 " channels",
           slicing.bin_slices * slicing.channel_slices, slicing.bins, slicing.channels);
  plan.Add("bands of %" PRId64 " rows", slicing.rows);
}

constexpr CpuImplementation<Problem> kForward[] = {
    {"replicated",
     "the map is one band of at most 32 rows, with one slice of channels and at most as many "
     "elements as the output; 4 channels, or 1 group",
     [](const CpuCall<Problem>& call) { return CanReplicate(call.p); },
     [](const CpuCall<Problem>& call) { return SliceBytes(call.p, kMaxReplicas); }, RunReplicated},
    {"bands",
     "the bins have at least 1/6 of the elements of the map; scratch is at most 1 GiB or twice the "
     "tensors; 4 channels, or 1 group",
     [](const CpuCall<Problem>& call) {
       return CanBand(call.p) && ShouldRepack(call.p, call.arguments.In<float>("rois"));
     },
     [](const CpuCall<Problem>& call) { return SliceBytes(call.p, 1); }, RunBands, DescribeBands},
    {"strided", "always", Always, nullptr, RunStrided<float>},
    CpuImplementation<Problem>::ForDouble(RunStrided<double>),
};

}  // namespace

constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("psroipool_forward");

size_t ForwardScratch(const Problem& p) {
  return std::max(CanReplicate(p) ? SliceBytes(p, kMaxReplicas) : 0,
                  CanBand(p) ? SliceBytes(p, 1) : 0);
}

}  // namespace mluop::psroipool
#endif  // HWY_ONCE
