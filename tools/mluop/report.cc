// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace mluop::tool {
namespace {

// A card per case; its bars are a grid of label, bar and figure. On a phone the figure moves below.
constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --page: #fff; --text: #1f2328; --faint: #59636e; --card: #f6f8fa;
  --line: #d1d9e0; --floor: #00805c; --ours: #0072b2; --plain: #c65102; --peer: #9a4f86; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --text: #e6edf3; --faint: #9198a1;
  --card: #161b22; --line: #30363d; --floor: #2fbf93; --ours: #4da3e0; --plain: #f08a4b;
  --peer: #d18bbd; } }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1.2em; max-width: 78em;
  background: var(--page); color: var(--text); }
h1 { font-size: 1.5em; margin: .3em 0; }
h2 { font-size: 1.2em; margin: 1.8em 0 .5em; border-bottom: 1px solid var(--line); }
code { font-size: .86em; overflow-wrap: anywhere; }
a { color: var(--ours); } nav a { display: inline-block; margin: 0 1em .3em 0; }
.faint { color: var(--faint); font-size: .9em; }
table { border-collapse: collapse; margin: 1em 0; }
td, th { padding: .15em 1.2em .15em 0; text-align: right; font-variant-numeric: tabular-nums; }
.case { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: .6em .8em; margin: .7em 0; }
.bars { display: grid; grid-template-columns: 15em 1fr 26em; gap: .25em .8em; margin-top: .4em;
  align-items: center; font-size: .88em; }
.bars span { overflow-wrap: anywhere; }
.bar { height: .85em; border-radius: 2px; min-width: 3px; }
.cut { mask-image: linear-gradient(90deg, #000 85%, transparent);
  -webkit-mask-image: linear-gradient(90deg, #000 85%, transparent); }
.floor { background: var(--floor); } .ours { background: var(--ours); }
.plain { background: var(--plain); } .peer { background: var(--peer); }
.key .bar { display: inline-block; width: 1em; margin-left: .6em; }
@media (max-width: 640px) { body { padding: .8em; }
  .bars { grid-template-columns: 1fr; gap: .05em; } .bars .bar { margin-bottom: .15em; }
  .bars .figure { margin-bottom: .5em; color: var(--faint); } }
)";

std::string Escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

template <typename... Arguments>
std::string Format(const char* format, Arguments... arguments) {
  char text[256];
  std::snprintf(text, sizeof(text), format, arguments...);
  return text;
}

double Number(const Row& row, const char* key) { return row.at(key).get<double>(); }
std::string Text(const Row& row, const char* key) { return row.at(key).get<std::string>(); }

// A bar of the chart of a case.
struct Bar {
  const char* kind;  // the CSS class
  std::string label;
  double seconds;
  std::string figure;
};

// Maximum length of a bar. Longer bars are truncated with a fade, so that ours stays visible.
constexpr double kLongest = 8;  // times ours

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

// Formats the median relative to the minimum, if the row has both.
std::string Median(const Row& row) {
  if (!row.contains("median_s")) return "";
  return Format(", median %+.0f %%", (Number(row, "median_s") / Number(row, "min_s") - 1) * 100);
}

Bar OursBar(const Row& row) {
  std::string figure =
      TimeText(Number(row, "min_s")) +
      Format(", %.2f × floor, %.0f GB/s", Number(row, "ratio_to_floor"), Number(row, "gb_per_s")) +
      Median(row);
  if (Number(row, "compute_efficiency") > 0) {
    figure += Format(", %.1f %% of peak", Number(row, "compute_efficiency") * 100);
  }
  std::string label = "mluops, " + Text(row, "implementation");
  if (row.contains("mode") && Text(row, "mode") == "allowed") label += " (atomics allowed)";
  return {"ours", label, Number(row, "min_s"), figure};
}

// Returns the peer row of the same case, or NULL. Prefers level "library", which `row` has, over
// "drop-in".
const Row* FindPeer(const Row& file, const Row& row) {
  const Row* found = nullptr;
  for (const Row& peer : file.at("rows")) {
    if (!peer.contains("peer_s") || peer.at("case") != row["case"]) continue;
    if (found == nullptr || Text(peer, "level") == "library") found = &peer;
  }
  return found;
}

// Scales peer times by the ratio peer/ours, because the file may be from another machine.
void AddPeers(const Row& row, const Row& peers, std::vector<Bar>* bars) {
  for (const Row& file : peers) {
    const bool on_cpu = Text(file, "device") == "cpu";
    if (on_cpu != !row.contains("mode")) continue;
    const Row* const peer = FindPeer(file, row);
    if (peer == nullptr) continue;
    const double ratio = Number(*peer, "peer_s") / Number(*peer, "ours_s");
    bars->push_back({"peer", Text(*peer, "peer"), ratio * Number(row, "min_s"),
                     Format("%.1f × mluops, ", ratio) + Text(*peer, "level")});
  }
}

// rows: all rows of one case; the first has the default mode.
std::string CaseText(const std::vector<const Row*>& rows, const Row& peers, bool says_setting) {
  const Row& first = *rows[0];
  const double ours = Number(first, "min_s"), floor = Number(first, "floor_s");
  std::vector<Bar> bars = {{"floor", "floor", floor, TimeText(floor)}};
  for (const Row* row : rows) bars.push_back(OursBar(*row));
  if (first.contains("plain_loops_s")) {
    const double plain = Number(first, "plain_loops_s");
    bars.push_back({"plain", "plain loops", plain,
                    TimeText(plain) + Format(", %.1f × mluops", Number(first, "speedup"))});
  }
  AddPeers(first, peers, &bars);
  const std::string setting = says_setting ? SettingText(first) : "";
  return "<div class=case><code>" + Escaped(CaseArguments(first)) + "</code> <span class=faint>" +
         Escaped(setting) + "</span>\n" + BarsText(bars, ours) + "</div>\n";
}

std::string CeilingsText(const Row& ceilings) {
  if (ceilings.empty()) return "";
  const bool cpu = ceilings[0].contains("threads");
  std::string text = cpu ? "<table><tr><th>threads<th>moved<th>copy<th>fill</tr>\n"
                         : "<table><tr><th>moved<th>copy</tr>\n";
  for (const Row& ceiling : ceilings) {
    text += "<tr>";
    if (cpu) text += Format("<td>%d", ceiling["threads"].get<int>());
    text += Format("<td>%g MB<td>%.0f GB/s", Number(ceiling, "bytes") / (1 << 20),
                   Number(ceiling, "copy_gb_s"));
    if (cpu) text += Format("<td>%.0f GB/s", Number(ceiling, "fill_gb_s"));
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

// Rows grouped by case and setting, in order of first appearance.
using Cases = std::vector<std::vector<const Row*>>;

Cases CasesOf(const Row& rows, const std::string& op) {
  Cases cases;
  for (const Row& row : rows) {
    if (row["op"] != op) continue;
    const auto same = std::find_if(cases.begin(), cases.end(), [&](const auto& group) {
      const Row& other = *group[0];
      return other["case"] == row["case"] && other.value("threads", 0) == row.value("threads", 0) &&
             other.value("isa", "") == row.value("isa", "");
    });
    if (same == cases.end()) {
      cases.push_back({&row});
    } else {
      same->push_back(&row);
    }
  }
  return cases;
}

bool HasSeveralSettings(const Row& rows) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    return !row.contains("mode") && SettingText(row) != SettingText(rows[0]);
  });
}

std::string Heading(const Figures& figures, const PerfOptions& options, const Row& peers) {
  std::string text = "<h1>mluops: speed</h1>\n<p><b>" + Escaped(figures.machine) + "</b>, " +
                     figures.caches + "<br><code>" + Escaped(options.command) + "</code></p>\n" +
                     CeilingsText(figures.ceilings);
  text +=
      "<p class='faint key'><i class='bar floor'></i> floor: time to copy the minimum bytes "
      "on this device; <i class='bar ours'></i> mluops: minimum time";
  if (!figures.rows.empty() && figures.rows[0].contains("plain_loops_s"))
    text += "; <i class='bar plain'></i> plain loops, one thread";
  text += ". All measured in one run.";
  for (const Row& file : peers) {
    text += "<br><i class='bar peer'></i> peers on " + Escaped(Text(file, "device")) +
            ", as ratios measured on " + Escaped(Text(file, "machine")) + ", commit " +
            Escaped(Text(file, "commit")).substr(0, 10) + ": <code>" +
            Escaped(Text(file, "command")) + "</code>.";
  }
  return text + "</p>\n";
}

std::string Page(const Figures& figures, const PerfOptions& options, const Row& peers) {
  std::string page =
      "<!doctype html><html lang=en><meta charset=utf-8>"
      "<meta name=viewport content='width=device-width, initial-scale=1'>"
      "<title>mluops: speed</title><style>";
  page += kStyle;
  page += "</style>\n" + Heading(figures, options, peers) + "<nav>";
  std::vector<std::string> ops;  // in the order of the cases
  for (const Row& row : figures.rows) {
    const auto op = Text(row, "op");
    if (std::find(ops.begin(), ops.end(), op) != ops.end()) continue;
    ops.push_back(op);
    page += "<a href='#" + op + "'>" + op + "</a>\n";
  }
  page += "</nav>\n";
  const bool says_setting = HasSeveralSettings(figures.rows);
  for (const std::string& op : ops) {
    page += "<h2 id='" + op + "'>" + op + "</h2>\n";
    for (const auto& rows : CasesOf(figures.rows, op)) page += CaseText(rows, peers, says_setting);
  }
  return page + "</html>\n";
}

// Reads the files that --peers names. Throws std::invalid_argument.
Row ReadPeers(const std::vector<std::string>& names) {
  Row peers = Row::array();
  for (const std::string& name : names) {
    std::ifstream file(name);
    const Row read = Row::parse(file, nullptr, /*allow_exceptions=*/false);
    const auto has = [&](const char* key) { return read.is_object() && read.contains(key); };
    if (!has("machine") || !has("commit") || !has("command") || !has("device") || !has("rows"))
      throw std::invalid_argument("--peers must be a file written by bench/peers.py --json, got " +
                                  name);
    peers.push_back(read);
  }
  return peers;
}

int Write(const std::string& name, const char* option, const std::string& text) {
  if (name.empty()) return 0;
  std::ofstream file(name);
  file << text;
  if (file.flush()) return 0;
  std::fprintf(stderr, "mluop: %s must be a writable file, got %s\n", option, name.c_str());
  return 2;
}

}  // namespace

int WriteFigures(const PerfOptions& options, const Figures& figures) {
  const Row peers = ReadPeers(options.peers);
  const int status = Write(options.json, "--json", figures.rows.dump(2) + "\n");
  if (status != 0 || options.report.empty()) return status;
  return Write(options.report, "--report", Page(figures, options, peers));
}

}  // namespace mluop::tool
