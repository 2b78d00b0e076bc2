// SPDX-License-Identifier: Apache-2.0
// psroipool forward on the CPU. A bin's channels lie G*G apart in the map: read so, each costs a cache line.
// The map is regrouped band by band to [bin][row][W][channel], in a size that stays in the L2, and the bins
// are summed from there with vectors over the channels.
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

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

// The rows [begin, end) of the map into their places in the band.
void RegroupRows(const Problem& p, const float* input, const Band& band, float* to, int64_t begin,
                 int64_t end) {
  const float* pixel = input + begin * p.w * p.channels();
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t w = 0; w < p.w; ++w, pixel += p.channels()) {
      const bool last = row + 1 == end && w + 1 == p.w;
      RegroupPixel(pixel, last ? pixel : pixel + p.channels(), p.bins(), band,
                   to + band.Offset(p, 0, row, w));
    }
  }
}

// Pixels of one bin. Pieces are at most kPiece high and wide, so that no chain of additions is long: a chain of
// a million would lose the last digits.
constexpr int64_t kPiece = 32;
struct Piece {
  const float* data;
  int64_t rows, columns;
  int64_t row_stride, column_stride;
  bool first, last;  // of the bin's pieces
  int64_t area;      // of the whole bin
};

// The sum over the piece of the channels at c, row by row.
template <class D>
HWY_INLINE hn::Vec<D> SumPiece(D d, const Piece& piece, int64_t c) {
  auto sum = hn::Zero(d);
  const float* row = piece.data + c;
  for (int64_t h = 0; h < piece.rows; ++h, row += piece.row_stride) {
    auto row_sum = hn::LoadU(d, row);
    for (int64_t w = 1; w < piece.columns; ++w) {
      row_sum = hn::Add(row_sum, hn::LoadU(d, row + w * piece.column_stride));
    }
    sum = hn::Add(sum, row_sum);
  }
  return sum;
}

// The sum of a bin waits in the output for its next piece; the last one makes it the mean.
HWY_INLINE void PoolPiece(const Piece& piece, int64_t channels, float* output) {
  ForEachPart(channels, [&](auto d, int64_t c) HWY_ATTR {
    auto sum = SumPiece(d, piece, c);
    if (!piece.first) sum = hn::Add(hn::LoadU(d, output + c), sum);
    if (piece.last) sum = hn::Div(sum, hn::Set(d, static_cast<float>(piece.area)));
    hn::StoreU(sum, d, output + c);
  });
}

// Some rows of a row of bins. `strip` is a piece from column 0 of its first bin, with the area of one column.
HWY_INLINE void PoolStrip(const Problem& p, const Band& band, Piece strip, const Span* columns,
                          float* output) {
  for (int pw = 0; pw < p.group; ++pw) {
    const Span span = columns[pw];
    for (int64_t w = span.begin; w < span.end; w += kPiece) {
      Piece piece = strip;
      piece.data += w * strip.column_stride;
      piece.columns = std::min(kPiece, span.end - w);
      piece.first = strip.first && w == span.begin;
      piece.last = strip.last && w + piece.columns == span.end;
      piece.area = strip.area * span.size();
      PoolPiece(piece, band.channels, output);
    }
    strip.data += band.bin_stride;
    output += p.output_dim;
  }
}

// Adds what the band holds of the bins of the rois [begin, end).
void PoolBand(const Problem& p, const BinTable& table, const Band& band, const float* data,
              float* output, int64_t begin, int64_t end) {
  const int64_t row_stride = p.w * band.pixel_stride;
  for (int64_t r = begin; r < end; ++r) {
    const RoiBins roi = table[r];
    for (int64_t ph = 0; ph < p.group; ++ph) {
      const int64_t top = int64_t{roi.image} * p.h + roi.rows[ph].begin;
      const int64_t bottom = int64_t{roi.image} * p.h + roi.rows[ph].end;
      const int64_t last = std::min(bottom, band.last_row);
      for (int64_t h = std::max(top, band.first_row); h < last; h += kPiece) {
        const int64_t rows = std::min(kPiece, last - h);
        const Piece strip = {data + band.Offset(p, ph * p.group, h, 0),
                             rows,
                             1,
                             row_stride,
                             band.pixel_stride,
                             h == top,
                             h + rows == bottom,
                             bottom - top};
        PoolStrip(p, band, strip, roi.columns,
                  output + (r * p.group + ph) * p.group * p.output_dim);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psroipool {
namespace {

HWY_EXPORT(RegroupRows);
HWY_EXPORT(PoolBand);

// Elements that are worth a range of their own: some microseconds.
constexpr int64_t kGrain = 16384;
// A band is at most 1 MiB, half of a usual L2, if one row of the map is no longer.
constexpr int64_t kBandFloats = int64_t{1} << 18;
// To read an element of a bin from the map itself costs as much as to regroup this many: with few rois, most of
// the map is not worth it.
constexpr int64_t kStridedCost = 3;

struct Tensors {
  const float* input;
  const float* rois;
  float* output;
  int32_t* mapping;
};

size_t TableBytes(const Problem& p) {
  return (BinTable::Bytes(p) + kAlignment - 1) / kAlignment * kAlignment;
}

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
  float sum = 0;
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    float row_sum = 0;
    for (int64_t w = columns.begin; w < columns.end; ++w) {
      row_sum += channel[(h * p.w + w) * p.channels()];
    }
    sum += row_sum;
  }
  return sum / static_cast<float>(rows.size() * columns.size());
}

void PoolStrided(const Problem& p, const BinTable& table, const Tensors& t, int64_t begin,
                 int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    const RoiBins roi = table[r];
    const float* image = t.input + int64_t{roi.image} * p.h * p.w * p.channels();
    float* output = t.output + r * p.channels();
    for (int64_t bin = 0; bin < p.bins(); ++bin, output += p.output_dim) {
      const Span rows = roi.rows[bin / p.group];
      const Span columns = roi.columns[bin % p.group];
      if (rows.size() == 0 || columns.size() == 0) continue;
      for (int64_t c = 0; c < p.output_dim; ++c) {
        output[c] = MeanOf(p, image + p.Channel(bin, c), rows, columns);
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
  if (p.group == 1) return TableBytes(p);
  return TableBytes(p) +
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
  if (p.group == 1) {  // the map is its own regrouped form
    const Band map = {0, p.rows(), 0, p.output_dim, p.output_dim, 0};
    const auto pool = HWY_DYNAMIC_DISPATCH(PoolBand);
    threads.For(p.rois, grain, [&](int64_t begin, int64_t end, int) {
      pool(p, table, map, t.input, t.output, begin, end);
    });
  } else if (kStridedCost * elements < p.map_elements()) {
    threads.For(p.rois, grain,
                [&](int64_t begin, int64_t end, int) { PoolStrided(p, table, t, begin, end); });
  } else {
    PoolRegrouped(p, table, t, reinterpret_cast<float*>(scratch + TableBytes(p)), threads, grain);
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::psroipool
#endif  // HWY_ONCE
