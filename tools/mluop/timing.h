// SPDX-License-Identifier: Apache-2.0
// Things that are timed against one another, turn by turn.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace mluop::tool {

// Something that is timed, and its times in seconds.
struct Contender {
  std::function<void()> run;
  double budget;
  std::vector<double> times = {};
  double spent = 0;  // seconds

  bool Done() const;
  void Time();
  double Quantile(double q) const;
};

// Turn by turn, so that a slow moment of the machine is everybody's. Hot: each turn begins with a
// run that does not count. Cold: `flush` before every run, and
// its time counts against the budget: it may be many times that of the run.
void MeasureTogether(std::vector<Contender>& contenders, const std::function<void()>& flush);

}  // namespace mluop::tool
