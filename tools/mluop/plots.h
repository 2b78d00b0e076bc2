// SPDX-License-Identifier: Apache-2.0
// The plots of a page: a strip of dots per operator, as inline SVG. Positions are percentages and
// sizes are pixels, so that a plot fills any width and its text keeps its size.
#pragma once

#include <string>
#include <vector>

#include "machine.h"

namespace mluop::tool {

struct Dot {
  double value;
  std::string title;      // shown when the pointer is over it
  const char* css_class;  // "dot", "open", "other"
};
struct Strip {
  std::string label;
  std::vector<Dot> dots;
};
struct Axis {
  double least, most;
  bool logarithmic;
  std::vector<double> ticks;
  const char* format;  // of a tick
  double limit;        // a dashed line
};
// Values outside the axis are drawn at its ends.
std::string PlotOf(const std::vector<Strip>& strips, const Axis& axis);

// The plots of a document; "" if there is nothing to show.
std::string EfficiencyPlot(const Row& cases);
std::string FloorPlot(const Row& cases, const Row& peers);
std::string ErrorPlot(const Row& operators);

}  // namespace mluop::tool
