// SPDX-License-Identifier: Apache-2.0
// Times several functions in turn, for a fair comparison.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace mluop::tool {

// A timed function, and its times in seconds.
struct Contender {
  std::function<void()> run;
  double budget;
  std::vector<double> times = {};
  double spent = 0;  // seconds

  bool Done() const;
  void Time();
  double Quantile(double q) const;
};

// Runs the contenders in turn, so that a slow phase of the machine affects all of them. Hot
// (`flush` is empty): each turn starts with a run that is not timed. Cold: calls `flush` before
// every run; its time counts against the budget, because it may exceed the time of the run many
// times.
void MeasureTogether(std::vector<Contender>& contenders, const std::function<void()>& flush);

}  // namespace mluop::tool
