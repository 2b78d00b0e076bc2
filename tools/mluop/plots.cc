// SPDX-License-Identifier: Apache-2.0
#include "plots.h"

#include <algorithm>
#include <cmath>

#include "efficiency.h"
#include "figures.h"
#include "html.h"
#include "peers.h"

namespace mluop::tool {
namespace {

constexpr int kStripHeight = 38, kDotOffset = 24;  // pixels

// The place of a value on the axis, in percent of the width.
double PlaceOf(double value, const Axis& axis) {
  const double v = std::clamp(value, axis.least, axis.most);
  const double share = axis.logarithmic
                           ? std::log(v / axis.least) / std::log(axis.most / axis.least)
                           : (v - axis.least) / (axis.most - axis.least);
  return 4 + 90 * share;
}

std::string TickText(double tick, int height, const Axis& axis) {
  const double place = PlaceOf(tick, axis);
  return Format("<line class=grid x1='%.2f%%' x2='%.2f%%' y1=0 y2=%d />", place, place, height) +
         Format("<text class=faint x='%.2f%%' y=%d text-anchor=middle>", place, height + 14) +
         Format(axis.format, tick) + "</text>\n";
}

// Returns the strip of an operator; adds one if there is none.
Strip& StripOf(std::vector<Strip>& strips, const std::string& op) {
  const auto found =
      std::find_if(strips.begin(), strips.end(), [&](const Strip& s) { return s.label == op; });
  if (found != strips.end()) return *found;
  strips.push_back({op, {}});
  return strips.back();
}

}  // namespace

std::string PlotOf(const std::vector<Strip>& strips, const Axis& axis) {
  if (strips.empty()) return "";
  const int height = kStripHeight * static_cast<int>(strips.size()) + 4;
  std::string text = Format("<svg role=img height=%d>\n", height + 22);
  for (const double tick : axis.ticks) text += TickText(tick, height, axis);
  const double limit = PlaceOf(axis.limit, axis);
  text += Format("<line class=limit x1='%.2f%%' x2='%.2f%%' y1=0 y2=%d />\n", limit, limit, height);
  int y = 0;
  for (const Strip& strip : strips) {
    text += Format("<line class=grid x1=0 x2='100%%' y1=%d y2=%d />", y, y) +
            Format("<text x=0 y=%d>", y + 13) + Escaped(strip.label) + "</text>\n";
    for (const Dot& dot : strip.dots) {
      text += Format("<circle class=%s cx='%.2f%%' cy=%d r=4.5><title>", dot.css_class,
                     PlaceOf(dot.value, axis), y + kDotOffset) +
              Escaped(dot.title) + "</title></circle>\n";
    }
    y += kStripHeight;
  }
  return text + "</svg>\n";
}

std::string EfficiencyPlot(const Row& cases) {
  std::vector<Strip> strips;
  for (const Row& row : cases) {
    const double io = Number(row, "io_efficiency"), compute = Number(row, "compute_efficiency");
    StripOf(strips, Text(row, "op"))
        .dots.push_back(
            {100 * std::max(io, compute),
             CaseArguments(row) + ": IO " + PercentOf(io) + ", compute " + PercentOf(compute),
             row.value("met", false) ? "dot" : "open"});
  }
  const Axis axis = {1, 1000, true, {1, 5, 10, 100, 1000}, "%g %%", 100 * kAccepted};
  return PlotOf(strips, axis);
}

std::string FloorPlot(const Row& cases, const Row& peers) {
  std::vector<Strip> strips;
  for (const Row& row : cases) {
    const double floor = Number(row, "floor_s");
    Strip& strip = StripOf(strips, Text(row, "op"));
    for (const Peer& peer : PeersOf(peers, row)) {
      strip.dots.push_back({peer.seconds / floor,
                            peer.name + " (" + peer.machine + "): " + CaseArguments(row) +
                                Format(": %.1f × floor", peer.seconds / floor),
                            "other"});
    }
    strip.dots.push_back(
        {Number(row, "ratio_to_floor"),
         CaseArguments(row) + Format(": %.2f × floor", Number(row, "ratio_to_floor")), "dot"});
  }
  const Axis axis = {0.5, 200, true, {0.5, 1, 2, 5, 10, 20, 50, 200}, "%g", 1};
  return PlotOf(strips, axis);
}

std::string ErrorPlot(const Row& operators) {
  std::vector<Strip> strips;
  for (const Row& op : operators) {
    for (const Row& worst : op.value("worst", Row::array())) {
      if (!worst.contains("threshold")) continue;
      for (const char* key : {"diff1", "diff2"}) {
        const double share = Number(worst, key) / Number(worst, "threshold");
        StripOf(strips, Text(op, "name") + ", " + Text(worst, "output"))
            .dots.push_back({share,
                             std::string(key) +
                                 Format(" = %.3g, threshold %.3g: ", Number(worst, key),
                                        Number(worst, "threshold")) +
                                 Text(worst, "case"),
                             worst.value("passed", false) ? "dot" : "open"});
      }
    }
  }
  const Axis axis = {0.001, 10, true, {0.001, 0.01, 0.1, 1, 10}, "%g", 1};
  return PlotOf(strips, axis);
}

}  // namespace mluop::tool
