// SPDX-License-Identifier: Apache-2.0
// The measurements of a page: a card per case.
#include <algorithm>

#include "html.h"
#include "peers.h"
#include "report.h"

namespace mluop::tool {
namespace {

// One line of a case: its time as a bar.
struct Bar {
  const char* kind;  // the CSS class
  std::string label;
  double seconds;
  std::string figure;
};

// The length of the longest bar in units of ours, so that ours stays visible. Longer bars are cut
// and fade out.
constexpr double kLongest = 8;

std::string BarsText(const std::vector<Bar>& bars, double ours) {
  double longest = 0;
  for (const Bar& bar : bars) longest = std::max(longest, bar.seconds);
  const double scale = std::min(longest, kLongest * ours);
  std::string text = "<div class=bars>\n";
  for (const Bar& bar : bars) {
    const double width = bar.seconds / scale;
    text += "<span>" + Escaped(bar.label) + "</span>" +
            Format("<div class='bar %s%s' style='width:%.2f%%'></div>", bar.kind,
                   width > 1 ? " cut" : "", std::min(width, 1.0) * 100) +
            "<span class=figure>" + Escaped(bar.figure) + "</span>\n";
  }
  return text + "</div>\n";
}

// Returns the distance of the median from the minimum, if both were measured.
std::string Median(const Row& row) {
  if (!row.contains("median_s")) return "";
  return Format(", median %+.0f %%", (Number(row, "median_s") / Number(row, "min_s") - 1) * 100);
}

Bar OursBar(const Row& row) {
  const std::string figure =
      TimeOf(Number(row, "min_s")) +
      Format(", %.2f × floor, %.3g GB/s", Number(row, "ratio_to_floor"), Number(row, "gb_per_s")) +
      Median(row);
  std::string label = "mluops, " + Text(row, "implementation");
  if (row.contains("mode") && Text(row, "mode") == "allowed") label += " (atomics allowed)";
  return {"ours", label, Number(row, "min_s"), figure};
}

// "met", or the reason why not.
std::string VerdictText(const Row& row) {
  if (row.value("met", false)) return Badge("good", "≥ 50 %: met");
  const std::string reason = row.value("reason", "");
  if (reason.empty()) return Badge("bad", "below 50 %, no reason given");
  return Badge("note", "below 50 %") + " bottleneck: " + Escaped(reason);
}

// The figures that have no bar.
std::string FactsText(const Row& row) {
  const double operations = Number(row, "operations");
  std::string text = "<div class=facts>" + VerdictText(row) + "<br>IO efficiency <b>" +
                     PercentOf(Number(row, "io_efficiency")) + "</b>, compute efficiency <b>" +
                     PercentOf(Number(row, "compute_efficiency")) + "</b>, " + "limited by " +
                     row.value("bound", "memory") + " · hardware time <b>" +
                     TimeOf(Number(row, "min_s")) + "</b>";
  text += row.contains("host_s")
              ? ", interface time <b>" + TimeOf(Number(row, "host_s")) + "</b>"
              : ", interface time the same: the call computes on the caller's thread";
  text += " · " + row.value("dtype", "") + " · " + BytesOf(Number(row, "bytes")) + " · " +
          (operations == 0 ? "no operations" : OperationsOf(operations)) + " · workspace " +
          BytesOf(row.value("workspace_bytes", 0.0));
  for (const Row& remark : row.value("remarks", Row::array())) {
    text += "<br>Remark: " + Escaped(Text(remark, "text")) + ".";
  }
  return text + "</div>\n";
}

// rows: the measurements of one case, the first in the default mode.
std::string CaseText(const std::vector<const Row*>& rows, const Row& peers, bool shows_setting) {
  const Row& first = *rows[0];
  const double ours = Number(first, "min_s"), floor = Number(first, "floor_s");
  std::vector<Bar> bars = {{"floor", "floor", floor, TimeOf(floor)}};
  for (const Row* row : rows) bars.push_back(OursBar(*row));
  if (first.contains("plain_loops_s")) {
    const double plain = Number(first, "plain_loops_s");
    bars.push_back({"plain", "plain loops", plain,
                    TimeOf(plain) + Format(", %.1f × mluops", Number(first, "speedup"))});
  }
  for (const Peer& peer : PeersOf(peers, first)) {
    bars.push_back({"peer", peer.name, peer.seconds,
                    Format("%.1f × mluops, ", peer.ratio) + peer.level +
                        ", measured elsewhere: " + peer.machine});
  }
  const std::string setting = shows_setting ? SettingText(first) : "";
  return "<div class=case><code>" + Escaped(CaseArguments(first)) + "</code> <span class=faint>" +
         Escaped(setting) + "</span>\n" + BarsText(bars, ours) + FactsText(first) + "</div>\n";
}

// Rows of the same case and setting, in the order of their first.
using Cases = std::vector<std::vector<const Row*>>;

Cases CasesOf(const std::vector<const Row*>& rows) {
  Cases cases;
  for (const Row* row : rows) {
    const auto same = std::find_if(cases.begin(), cases.end(), [&](const auto& group) {
      const Row& other = *group[0];
      return other["case"] == (*row)["case"] &&
             other.value("threads", 0) == row->value("threads", 0) &&
             other.value("isa", "") == row->value("isa", "");
    });
    if (same == cases.end()) {
      cases.push_back({row});
    } else {
      same->push_back(row);
    }
  }
  return cases;
}

}  // namespace

std::string CountersSection(const std::vector<const Row*>& rows) {
  std::vector<std::vector<std::string>> table;
  for (const Row* row : rows) {
    std::string counters;
    for (const Row& line : row->at("counters")) {
      counters += (counters.empty() ? "" : "<br>") + Escaped(line.get<std::string>());
    }
    const double operations = Number(*row, "operations");
    table.push_back({"<code>" + Escaped(CaseArguments(*row)) + "</code>",
                     BytesOf(Number(*row, "bytes")),
                     operations == 0 ? "none" : OperationsOf(operations), counters});
  }
  return TableOf({"case", "bytes needed", "operations needed", "counted in one call"}, table);
}

std::string PerformanceSection(const std::vector<const Row*>& rows, const Row& peers) {
  const bool shows_setting = std::any_of(rows.begin(), rows.end(), [&](const Row* row) {
    return !row->contains("mode") && SettingText(*row) != SettingText(*rows[0]);
  });
  std::string text;
  for (const auto& group : CasesOf(rows)) text += CaseText(group, peers, shows_setting);
  return text;
}

}  // namespace mluop::tool
