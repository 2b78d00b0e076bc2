// SPDX-License-Identifier: Apache-2.0
#include "mlu/counters.h"

#include <cstdarg>
#include <cstdio>
#include <numeric>

namespace bang {
namespace {

#define BANG_NAME(direction, from, to) #direction,
constexpr const char* kDirectionNames[] = {BANG_DIRECTIONS(BANG_NAME)};
#undef BANG_NAME
constexpr const char* kKindNames[kKinds] = {"arithmetic", "comparison", "logic", "selection",
                                            "layout",     "conversion", "fill",  "atomic"};

[[gnu::format(printf, 2, 3)]] void Append(std::string* text, const char* format, ...) {
  char line[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  text->append(line);
}

using Count = unsigned long long;

}  // namespace

const char* DirectionName(int direction) {
  return direction >= 0 && direction < kDirections ? kDirectionNames[direction] : "unknown";
}

uint64_t Counters::Work() const {
  return std::accumulate(std::begin(bytes), std::end(bytes), gdram_filled) +
         std::accumulate(std::begin(elements), std::end(elements), uint64_t{0});
}

void Counters::Add(const Counters& other) {
  for (int i = 0; i < kDirections; ++i) bytes[i] += other.bytes[i];
  for (int i = 0; i < kKinds; ++i) {
    instructions[i] += other.instructions[i];
    elements[i] += other.elements[i];
  }
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
  for (size_t i = 0; i < other.work.size(); ++i) work[i] += other.work[i];
}

std::string LaunchCounters::Format() const {
  std::string text;
  Append(&text, "launches %d\n", launches);
  for (int i = 0; i < kDirections; ++i) {
    if (total.bytes[i] > 0)
      Append(&text, "bytes %s %llu\n", kDirectionNames[i], Count{total.bytes[i]});
  }
  if (total.gdram_filled > 0) Append(&text, "bytes gdramset %llu\n", Count{total.gdram_filled});
  for (int i = 0; i < kKinds; ++i) {
    if (total.instructions[i] > 0)
      Append(&text, "%s instructions %llu, elements %llu\n", kKindNames[i],
             Count{total.instructions[i]}, Count{total.elements[i]});
  }
  if (total.nram_peak > 0) Append(&text, "NRAM peak %zu bytes\n", total.nram_peak);
  if (total.sram_peak > 0) Append(&text, "SRAM peak %zu bytes\n", total.sram_peak);
  Append(&text, "copies %llu, asynchronous %llu, overlapped with computation %llu\n",
         Count{total.copies}, Count{total.async_copies}, Count{total.overlapped_copies});
  uint64_t most = 0, all = 0;
  for (const uint64_t core : work) {
    most = std::max(most, core);
    all += core;
  }
  if (most > 0)
    Append(&text, "balance %.3f (mean work of %zu cores / largest)\n",
           static_cast<double>(all) / static_cast<double>(work.size()) / static_cast<double>(most),
           work.size());
  return text;
}

}  // namespace bang
