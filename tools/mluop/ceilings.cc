// SPDX-License-Identifier: Apache-2.0
#include "ceilings.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "cpu/scratch.h"
#include "streams.h"
#include "timing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ceilings.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mluop::tool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Independent dependency chains, enough to hide the latency of a multiply-add.
constexpr int kChains = 8;

// Runs `rounds` multiply-adds in every chain. Writes the number of float operations.
float MultiplyAdd(int64_t rounds, double* operations) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f), term = hn::Set(d, 0.001f);
  auto a = hn::Zero(d), b = a, c = a, e = a, f = a, g = a, h = a, i = a;
  for (int64_t round = 0; round < rounds; ++round) {
    a = hn::MulAdd(a, factor, term);
    b = hn::MulAdd(b, factor, term);
    c = hn::MulAdd(c, factor, term);
    e = hn::MulAdd(e, factor, term);
    f = hn::MulAdd(f, factor, term);
    g = hn::MulAdd(g, factor, term);
    h = hn::MulAdd(h, factor, term);
    i = hn::MulAdd(i, factor, term);
  }
  *operations = 2.0 * kChains * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
  const auto left = hn::Add(hn::Add(a, b), hn::Add(c, e));
  return hn::GetLane(hn::Add(left, hn::Add(hn::Add(f, g), hn::Add(h, i))));
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::tool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::tool {
namespace {

HWY_EXPORT(MultiplyAdd);

constexpr double kSeconds = 0.02;  // per AccessMode
// Moving 512 MB takes 7 to 18 ms (AMD EPYC, 2 threads, load 3 to 4): time for ten runs.
constexpr size_t kLargeBytes = size_t{256} << 20;
constexpr double kLargeSeconds = 0.2;

double MinTime(std::vector<Contender>& contenders) {
  MeasureTogether(contenders, nullptr);
  double minimum = HUGE_VAL;
  for (const Contender& contender : contenders) minimum = std::min(minimum, contender.Quantile(0));
  return minimum;
}

double MinTimeOfAllModes(const Traffic& traffic, ThreadPool& threads) {
  const double seconds = traffic.Bytes() >= kLargeBytes ? kLargeSeconds : kSeconds;
  std::vector<Contender> contenders;
  for (const AccessMode mode : kAccessModes) {
    contenders.push_back({[&, mode] { Move(traffic, mode, threads); }, seconds});
  }
  return MinTime(contenders);
}

// Fills the memory with pseudo-random words. Pages that were never written all map to one page of
// zeros, which stays in the L1. Processors may also move lines of zeros faster.
void FillRandom(char* to, size_t bytes) {
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i + sizeof(state) <= bytes; i += sizeof(state)) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(to + i, &state, sizeof(state));
  }
}

}  // namespace

Bandwidth MeasureBandwidth(size_t bytes, ThreadPool& threads) {
  const auto free = [](char* p) { FreeAligned(p); };
  std::unique_ptr<char, decltype(free)> memory(static_cast<char*>(AllocateAligned(bytes)), free);
  if (memory == nullptr) throw std::bad_alloc();
  FillRandom(memory.get(), bytes);
  const Traffic copy = {{{memory.get(), bytes / 2}}, {{memory.get() + bytes / 2, bytes / 2}}};
  const Traffic fill = {{}, {{memory.get(), bytes}}};
  const auto size = static_cast<double>(bytes);
  return {bytes, size / MinTimeOfAllModes(copy, threads), size / MinTimeOfAllModes(fill, threads)};
}

double MeasurePeak(ThreadPool& threads) {
  constexpr int64_t kRounds = 50000;
  const auto multiply_add = HWY_DYNAMIC_DISPATCH(MultiplyAdd);
  std::atomic<float> sink;  // prevents the compiler from removing the computation
  double operations = 0;
  multiply_add(kRounds, &operations);
  const int64_t ranges = 4 * threads.num_threads();
  std::vector<Contender> contenders = {{[&] {
                                          threads.For(ranges, 1, [&](int64_t b, int64_t e, int) {
                                            double done = 0;
                                            for (; b < e; ++b) sink = multiply_add(kRounds, &done);
                                          });
                                        },
                                        kSeconds}};
  return operations * static_cast<double>(ranges) / MinTime(contenders);
}

}  // namespace mluop::tool
#endif  // HWY_ONCE
