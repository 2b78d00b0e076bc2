// SPDX-License-Identifier: Apache-2.0
// psroipool forward on the CPU. A bin's channels lie G*G apart in the map: read so, each costs a
// cache line. The map is regrouped band by band to [bin][row][W][channel], in a size that stays in
// the L2, and the bins are summed from there with vectors over the channels.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "ops/psroipool/band.h"
#include "ops/psroipool/bin_table.h"
#include "ops/psroipool/cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psroipool/cpu_forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/psroipool/regroup-inl.h"
#include "ops/psroipool/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

// The rows [begin, end) of the map into their places in the band.
void RegroupRows(const Problem& p, const float* input, const Band& band, float* data, int64_t begin,
                 int64_t end) {
  const float* pixel = input + begin * p.w * p.channels();
  float* place = data + band.Offset(p, 0, begin, 0);
  for (int64_t left = (end - begin) * p.w; left > 0; --left) {
    const float* next = left > 1 ? pixel + p.channels() : pixel;
    RegroupPixel(pixel, next, p.bins(), band, place);
    pixel = next;
    place += band.pixel_stride;
  }
}

// Bins are summed in pieces at most this high and wide, so that no chain of additions is long: a
// chain of a million would lose the last digits.
constexpr int64_t kPiece = 32;

// Some rows of a row of bins.
struct Strip {
  const float* data;  // column 0 of its first bin
  int64_t rows;
  int64_t row_stride, column_stride;
  bool first, last;    // of its bins' strips
  int64_t bin_height;  // with all strips
};

// Some columns of a bin of a strip.
struct Piece {
  const float* corner;
  int64_t columns;
  bool first, last;  // of the bin's pieces
  float area;        // of the bin
};

// The sums over a piece, row by row, of kCount vectors of channels from c on: finish(k, sum) for
// each.
template <int kCount, class D, class Finish>
HWY_INLINE void SumPiece(D d, const Strip& strip, const Piece& piece, int64_t c,
                         const Finish& finish) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto load = [&](const float* pixel, int64_t k) HWY_ATTR {
    return k < kCount ? hn::LoadU(d, pixel + k * lanes) : hn::Zero(d);
  };
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  const float* row = piece.corner + c;
  for (int64_t h = 0; h < strip.rows; ++h, row += strip.row_stride) {
    auto row0 = load(row, 0), row1 = load(row, 1), row2 = load(row, 2), row3 = load(row, 3);
    const float* pixel = row;
    for (int64_t w = 1; w < piece.columns; ++w) {
      pixel += strip.column_stride;
      row0 = hn::Add(row0, load(pixel, 0));
      row1 = hn::Add(row1, load(pixel, 1));
      row2 = hn::Add(row2, load(pixel, 2));
      row3 = hn::Add(row3, load(pixel, 3));
    }
    sum0 = hn::Add(sum0, row0);
    sum1 = hn::Add(sum1, row1);
    sum2 = hn::Add(sum2, row2);
    sum3 = hn::Add(sum3, row3);
  }
  finish(0, sum0);
  if (kCount > 1) finish(1, sum1);
  if (kCount > 2) finish(2, sum2);
  if (kCount > 3) finish(3, sum3);
}

// The sum of a bin waits in the output for its next piece; the last one makes it the mean.
template <class D, class Count>
HWY_INLINE void PoolPiece(D d, Count count, const Strip& strip, const Piece& piece,
                          int64_t channels, float* output) {
  ForEachGroup(d, count, channels, [&](auto vectors, int64_t c) HWY_ATTR {
    SumPiece<vectors.value>(d, strip, piece, c, [&](int64_t k, auto sum) HWY_ATTR {
      const int64_t at = c + k * static_cast<int64_t>(hn::Lanes(d));
      if (!piece.first) sum = hn::Add(LoadFirst(d, output + at, channels - at), sum);
      if (piece.last) sum = hn::Div(sum, hn::Set(d, piece.area));
      StoreFirst(d, sum, channels - at, output + at);
    });
  });
}

template <class D, class Count>
HWY_INLINE void PoolStrip(D d, Count count, const Band& band, const Strip& strip,
                          const RoiBins& roi, float* output) {
  const float* data = strip.data;
  for (const Span& span : roi.columns) {
    for (int64_t w = span.begin; w < span.end; w += kPiece) {
      const int64_t columns = std::min(kPiece, span.end - w);
      const Piece piece = {data + w * strip.column_stride, columns, strip.first && w == span.begin,
                           strip.last && w + columns == span.end,
                           static_cast<float>(strip.bin_height * span.size())};
      PoolPiece(d, count, strip, piece, band.channels, output);
    }
    data += band.bin_stride;
    output += band.channels;
  }
}

template <class D, class Count>
HWY_INLINE void PoolRoi(D d, Count count, const Problem& p, const Band& band, const float* data,
                        const RoiBins& roi, float* output) {
  const int64_t image_row = int64_t{roi.image} * p.h;
  for (const Span& span : roi.rows) {
    const int64_t top = image_row + span.begin;
    const int64_t bottom = image_row + span.end;
    const int64_t last = std::min(bottom, band.last_row);
    for (int64_t h = std::max(top, band.first_row); h < last; h += kPiece) {
      const int64_t rows = std::min(kPiece, last - h);
      const Strip strip = {data + band.Offset(p, 0, h, 0),
                           rows,
                           p.w * band.pixel_stride,
                           band.pixel_stride,
                           h == top,
                           h + rows == bottom,
                           span.size()};
      PoolStrip(d, count, band, strip, roi, output);
    }
    data += p.group * band.bin_stride;
    output += p.group * p.output_dim;
  }
}

// Adds what the band holds of the bins of the rois [begin, end).
void PoolBand(const Problem& p, const BinTable& table, const Band& band, const float* data,
              float* output, int64_t begin, int64_t end) {
  WithVectors(band.channels, [&](auto d, auto count) HWY_ATTR {
    for (int64_t r = begin; r < end; ++r) {
      PoolRoi(d, count, p, band, data, table[r], output + r * p.channels());
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psroipool {
namespace {

HWY_EXPORT(RegroupRows);
HWY_EXPORT(PoolBand);

// A band is at most 1 MiB, half of a usual L2, if one row of the map is no longer.
constexpr int64_t kBandFloats = int64_t{1} << 18;

// With fewer channels a vector holds nothing: regrouping does not pay (0.9 of the plain loops'
// speed).
constexpr int kLeastVector = 3;

struct Tensors {
  const float* input;
  const float* rois;
  float* output;
  int32_t* mapping;
};

int64_t BandRows(const Problem& p) { return RowsWithin(p, p.output_dim, kBandFloats); }

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
    const RoiBins roi = table[r];
    float* output = t.output + r * p.channels();
    for (int ph = 0; ph < p.group; ++ph) {
      for (int pw = 0; pw < p.group; ++pw, output += p.output_dim) {
        if (roi.rows[ph].size() > 0 && roi.columns[pw].size() > 0) continue;
        std::fill_n(output, p.output_dim, 0.0f);
      }
    }
    if (r == begin) continue;
    std::memcpy(t.mapping + r * p.channels(), first,
                sizeof(int32_t) * static_cast<size_t>(p.channels()));
  }
  return pixels;
}

// The mean of one channel of one bin, from the map itself.
float MeanOf(const Problem& p, const float* channel, Span rows, Span columns) {
  double sum = 0;
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    const float* row = channel + h * p.w * p.channels();
    for (int64_t w = columns.begin; w < columns.end; ++w) sum += row[w * p.channels()];
  }
  return static_cast<float>(sum / static_cast<double>(rows.size() * columns.size()));
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
        for (int64_t c = 0; c < p.output_dim; ++c) {
          output[c] = MeanOf(p, channel + c * p.bins(), roi.rows[ph], roi.columns[pw]);
        }
      }
    }
  }
}

void PoolRegrouped(const Problem& p, const BinTable& table, const Tensors& t, float* data,
                   ThreadPool& threads, int64_t grain) {
  const auto regroup = HWY_DYNAMIC_DISPATCH(RegroupRows);
  const auto pool = HWY_DYNAMIC_DISPATCH(PoolBand);
  for (int64_t row = 0; row < p.rows(); row += BandRows(p)) {
    const Band band = MakeBand(p, row, std::min(row + BandRows(p), p.rows()), 0, p.output_dim);
    threads.For(band.last_row - row, kGrain / (p.w * p.channels()) + 1,
                [&](int64_t begin, int64_t end, int) {
                  regroup(p, t.input, band, data, row + begin, row + end);
                });
    threads.For(p.rois, grain, [&](int64_t begin, int64_t end, int) {
      pool(p, table, band, data, t.output, begin, end);
    });
  }
}

}  // namespace

size_t ForwardScratch(const Problem& p) {
  return BinTable::Bytes(p) +
         sizeof(float) * static_cast<size_t>(BandFloats(p, BandRows(p), p.output_dim));
}

mluOpStatus_t ForwardCpu(const Arguments& a, Context& context) {
  const Problem p = MakeProblem(a, a.Float("spatial_scale"));
  const Tensors t = {a.In<float>("input"), a.In<float>("rois"), a.Out<float>("output"),
                     a.Out<int32_t>("mapping_channel")};
  char* scratch = static_cast<char*>(context.Scratch(ForwardScratch(p)));
  BinTable table(p, scratch);
  ThreadPool& threads = context.threads();
  std::atomic<int64_t> pixels = 0;
  threads.For(p.rois, kGrain / p.channels() + 1, [&](int64_t begin, int64_t end, int) {
    pixels += WriteBins(p, t, table, begin, end);
  });
  const int64_t elements = pixels * p.output_dim;
  const int64_t grain = kGrain * p.rois / (elements + p.rois * p.bins()) + 1;
  if ((p.group > 1 && p.output_dim < kLeastVector) || kStridedCost * elements < p.map_elements()) {
    threads.For(p.rois, grain,
                [&](int64_t begin, int64_t end, int) { PoolStrided(p, table, t, begin, end); });
  } else {
    PoolRegrouped(p, table, t, reinterpret_cast<float*>(scratch + BinTable::Bytes(p)), threads,
                  grain);
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::psroipool
#endif  // HWY_ONCE
