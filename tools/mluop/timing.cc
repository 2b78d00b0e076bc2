// SPDX-License-Identifier: Apache-2.0
#include "timing.h"

#include <algorithm>
#include <chrono>

namespace mluop::tool {
namespace {

constexpr size_t kMinRuns = 5, kMaxRuns = 2000;
// A contender that exceeds its budget by this factor stops, even with fewer runs than kMinRuns.
// The plain loops of a large case take half a second per run.
constexpr double kOverrun = 8;
constexpr double kBatchSeconds = 1e-3;  // seconds of one contender's turn

double SecondsOf(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

bool Contender::Done() const {
  if (spent >= kOverrun * budget) return true;
  return times.size() >= kMinRuns && (spent >= budget || times.size() >= kMaxRuns);
}

void Contender::Time() {
  times.push_back(SecondsOf(run));
  spent += times.back();
}

double Contender::Quantile(double q) const {
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))];
}

void MeasureTogether(std::vector<Contender>& contenders, const std::function<void()>& flush) {
  for (bool busy = true; busy;) {
    busy = false;
    for (Contender& contender : contenders) {
      if (contender.Done()) continue;
      busy = true;
      if (flush) {
        contender.spent += SecondsOf(flush);
        contender.Time();
        continue;
      }
      contender.run();
      const double end = contender.spent + kBatchSeconds;
      do {
        contender.Time();
      } while (contender.spent < end && !contender.Done());
    }
  }
}

}  // namespace mluop::tool
