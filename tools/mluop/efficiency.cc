// SPDX-License-Identifier: Apache-2.0
#include "efficiency.h"

#include "html.h"
#include "testing/notes.h"

namespace mluop::tool {
namespace {

// Ratios closer to 1 than this are noise.
constexpr double kNoise = 0.05;
// Larger copies run at the rate of the largest one: their size explains nothing.
constexpr double kSmallCopy = 32 << 20;  // bytes

// Explains a row below 50 % of the rate of the largest copy, if the floor is below it too. Returns ""
// if that does not explain the row.
std::string FloorReason(const Rates& rates, const Row& row) {
  const double bytes = Number(row, "bytes"), ratio = Number(row, "ratio_to_floor");
  const double floor = bytes / Number(row, "floor_s") / rates.copy;
  if (floor >= kAccepted || ratio > 1 / kAccepted) return "";
  const std::string time = " takes " + TimeOf(Number(row, "floor_s")) + " and reaches " +
                           PercentOf(floor) + ", this call takes " + Format("%.2f", ratio) +
                           " times as long";
  if (bytes <= kSmallCopy) return "the size: a copy of as many bytes" + time;
  return "memory: the fastest stream of the same bytes, " +
         PercentOf(Number(row, "written_bytes") / bytes) + " of them written," + time;
}

Row AboveCopyRate(const Rates& rates, const Row& row) {
  const double rate = Number(row, "bytes") / Number(row, "min_s");
  const double tensors = Number(row, "tensor_bytes");
  const std::string caches = Text(row, "caches");
  if (caches != "cold" && caches != "rotated" && tensors <= rates.cache_bytes) {
    return {{"mark", "a"},
            {"text", "above 100 %: the tensors (" + BytesOf(tensors) + ") stay in the caches (" +
                         BytesOf(rates.cache_bytes) + "), the copy of " + BytesOf(rates.copied) +
                         " does not"}};
  }
  const double written = Number(row, "written_bytes") / Number(row, "bytes");
  if (rate <= rates.fill * (1 + kNoise) && written > 0.5) {
    return {{"mark", "b"},
            {"text", "above 100 %: " + PercentOf(written) +
                         " of the bytes are written, and filling is faster than copying (" +
                         Format("%.0f against %.0f GB/s)", rates.fill * 1e-9, rates.copy * 1e-9)}};
  }
  return {{"mark", "c"},
          {"text", "above 100 %: the copy of " + BytesOf(rates.copied) +
                       " is not the fastest way to move bytes " +
                       Format("(%.0f against %.0f GB/s)", rate * 1e-9, rates.copy * 1e-9)}};
}

Row RemarksOf(const Rates& rates, const Row& row) {
  Row remarks = Row::array();
  if (Number(row, "io_efficiency") > 1 + kNoise) remarks.push_back(AboveCopyRate(rates, row));
  if (Number(row, "ratio_to_floor") < 1 - kNoise) {
    remarks.push_back({{"mark", "d"},
                       {"text", "faster than the floor: streaming the same buffers once takes " +
                                    TimeOf(Number(row, "floor_s")) +
                                    " and is not the fastest way to move them"}});
  }
  return remarks;
}

}  // namespace

void AddEfficiency(const Rates& rates, Row* row) {
  Row& r = *row;
  const double seconds = Number(r, "min_s");
  const double io = Number(r, "bytes") / seconds / rates.copy;
  const double compute = rates.peak > 0 ? Number(r, "operations") / seconds / rates.peak : 0;
  const bool met = io >= kAccepted || compute >= kAccepted;
  r["io_efficiency"] = io;
  r["compute_efficiency"] = compute;
  r["bound"] = io >= compute ? "memory" : "compute";
  r["met"] = met;
  std::string reason;
  if (!met) reason = testing::NoteOf(Text(r, "case"), Text(r, "device"));
  if (!met && reason.empty()) reason = FloorReason(rates, r);
  r["reason"] = reason;
  r["remarks"] = RemarksOf(rates, r);
}

const char* MeaningOf(const std::string& mark) {
  if (mark == "a") return "the tensors stay in the caches; the reference copy does not";
  if (mark == "b") return "most bytes are written, and filling is faster than copying";
  if (mark == "c") return "faster than the reference copy, which is not the fastest possible";
  return "faster than the floor: streaming the buffers once is not the fastest way to move them";
}

}  // namespace mluop::tool
