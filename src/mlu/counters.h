// SPDX-License-Identifier: Apache-2.0
// Counts the work of a launch: bytes by direction, vector instructions by kind, memory, overlap, balance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bang/copy.h"

namespace bang {

inline constexpr int kDirections = SRAM2SRAM + 1;
inline constexpr int kKinds = kAtomic + 1;

const char* DirectionName(int direction);

struct Counters {
  std::array<uint64_t, kDirections> bytes = {};
  std::array<uint64_t, kKinds> instructions = {}, elements = {};
  uint64_t copies = 0;
  uint64_t async_copies = 0;
  uint64_t overlapped_copies = 0;  // async copies with a vector instruction that no sync separates
  uint64_t gdram_filled = 0;       // bytes
  size_t nram_peak = 0;
  size_t sram_peak = 0;

  // Bytes and elements: the work of a core, for the balance.
  uint64_t Work() const;
  void Add(const Counters& other);
};

struct LaunchCounters {
  int launches = 0;
  Counters total;
  std::vector<uint64_t> work;  // by core of the card

  void Add(const LaunchCounters& other);
  // One "name value" pair per line.
  std::string Format() const;
};

}  // namespace bang
