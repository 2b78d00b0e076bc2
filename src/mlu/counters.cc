// SPDX-License-Identifier: Apache-2.0
#include "mlu/counters.h"

#include <algorithm>
#include <iomanip>
#include <numeric>
#include <sstream>

namespace bang {
namespace {

#define BANG_NAME(direction, from, to) #direction,
constexpr const char* kDirectionNames[] = {BANG_DIRECTIONS(BANG_NAME)};
constexpr const char* kKindNames[kKinds] = {"arithmetic", "comparison", "logic", "selection",
                                            "layout",     "conversion", "fill",  "atomic"};

template <class Numbers>
void AddEach(Numbers* sums, const Numbers& numbers) {
  std::transform(numbers.begin(), numbers.end(), sums->begin(), sums->begin(), std::plus<>());
}

}  // namespace

const char* DirectionName(int direction) { return kDirectionNames[direction]; }

uint64_t Counters::Work() const {
  return std::accumulate(bytes.begin(), bytes.end(), gdram_filled) +
         std::accumulate(elements.begin(), elements.end(), uint64_t{0});
}

void Counters::Add(const Counters& other) {
  AddEach(&bytes, other.bytes);
  AddEach(&instructions, other.instructions);
  AddEach(&elements, other.elements);
  copies += other.copies;
  async_copies += other.async_copies;
  overlapped_copies += other.overlapped_copies;
  gdram_filled += other.gdram_filled;
  nram_peak = std::max(nram_peak, other.nram_peak);
  sram_peak = std::max(sram_peak, other.sram_peak);
}

void LaunchCounters::Add(const LaunchCounters& other) {
  launches += other.launches;
  total.Add(other.total);
  work.resize(std::max(work.size(), other.work.size()));
  AddEach(&work, other.work);
}

std::string LaunchCounters::Format() const {
  std::ostringstream text;
  text << "launches " << launches << '\n';
  for (size_t i = 0; i < kDirections; ++i) {
    if (total.bytes[i] > 0) text << "bytes " << kDirectionNames[i] << ' ' << total.bytes[i] << '\n';
  }
  if (total.gdram_filled > 0) text << "bytes gdramset " << total.gdram_filled << '\n';
  for (size_t i = 0; i < kKinds; ++i) {
    if (total.instructions[i] > 0)
      text << kKindNames[i] << " instructions " << total.instructions[i] << ", elements "
           << total.elements[i] << '\n';
  }
  if (total.nram_peak > 0) text << "NRAM peak " << total.nram_peak << " bytes\n";
  if (total.sram_peak > 0) text << "SRAM peak " << total.sram_peak << " bytes\n";
  text << "copies " << total.copies << ", asynchronous " << total.async_copies
       << ", overlapped with computation " << total.overlapped_copies << '\n';
  const uint64_t most = work.empty() ? 0 : *std::max_element(work.begin(), work.end());
  const double all = std::accumulate(work.begin(), work.end(), 0.0);
  if (most > 0)
    text << "balance " << std::fixed << std::setprecision(3)
         << all / static_cast<double>(work.size() * most) << " (mean work of " << work.size()
         << " cores / largest)\n";
  return text.str();
}

}  // namespace bang
