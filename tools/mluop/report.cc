// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <vector>

namespace mluop::tool {
namespace {

constexpr char kStyle[] = R"(
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 72em; color: #222; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin: 1.6em 0 .4em; }
code { background: #f3f3f3; padding: .1em .3em; border-radius: 3px; font-size: .85em; }
table { border-collapse: collapse; } td, th { padding: .2em .8em .2em 0; text-align: left; }
.case { margin: .9em 0; } .bar { display: flex; align-items: center; height: 1.15em; }
.bar i { display: block; height: .8em; border-radius: 2px; margin-right: .5em; min-width: 2px; }
.bar span { font-size: .8em; white-space: nowrap; }
.floor { background: #009e73; } .ours { background: #0072b2; } .plain { background: #d55e00; }
.key i { display: inline-block; width: 1em; height: .8em; border-radius: 2px; }
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

std::string Time(double seconds) {
  if (seconds < 1e-3) return Format("%.1f µs", seconds * 1e6);
  return Format(seconds < 1 ? "%.2f ms" : "%.0f ms", seconds * 1e3);
}

// A bar of the plain loops would leave nothing to see of the others: the longest is cut, and says so.
std::string Bar(const char* kind, double seconds, double scale, const std::string& text) {
  const double width = seconds / scale;
  return Format("<div class=bar><i class=%s style='width:%.2f%%'></i><span>", kind,
                std::min(width, 1.0) * 60) +
         (width > 1 ? "… " : "") + text + "</span></div>\n";
}

// Nothing for operators that only move bytes.
std::string Compute(const Row& row) {
  if (row["operations"].get<double>() == 0) return "";
  return Format(", %.1f %% of the arithmetic peak", row["compute_efficiency"].get<double>() * 100);
}

// What the case ran on: the CPU's threads and instruction set, or a device's mode.
std::string Setting(const Row& row) {
  if (row.contains("mode")) {
    return row["device"].get<std::string>() + ", " + row["mode"].get<std::string>() + "\n";
  }
  return Format("threads: %d, %s\n", row["threads"].get<int>(),
                row["isa"].get<std::string>().c_str());
}

// How far the median is from the least time, where both were taken.
std::string Median(const Row& row) {
  if (!row.contains("median_s")) return "";
  const double ratio = row["median_s"].get<double>() / row["min_s"].get<double>();
  return Format(", median %+.0f %%", (ratio - 1) * 100);
}

std::string PlainLoops(const Row& row, double scale) {
  if (!row.contains("plain_loops_s")) return "";
  const double plain = row["plain_loops_s"].get<double>();
  return Bar(
      "plain", plain, scale,
      "plain loops " + Time(plain) + Format(", %.1f × mluops", row["speedup"].get<double>()));
}

std::string CaseBars(const Row& row) {
  const auto number = [&](const char* key) { return row[key].get<double>(); };
  const double floor = number("floor_s"), ours = number("min_s");
  const double scale = std::max(2 * ours, 1.2 * floor);
  return "<div class=case><code>" + Escaped(row["case"].get<std::string>()) + "</code> " +
         Setting(row) + Bar("floor", floor, scale, "floor " + Time(floor)) +
         Bar("ours", ours, scale,
             "mluops " + Time(ours) +
                 Format(", %.2f × floor, %.0f GB/s", number("ratio_to_floor"), number("gb_per_s")) +
                 Median(row) + Compute(row)) +
         PlainLoops(row, scale) + "</div>\n";
}

}  // namespace

std::string MachineName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "cpu";
}

namespace {

std::string Report(const Row& rows, const Row& ceilings, const std::string& command) {
  std::string page =
      "<!doctype html><html lang=en><meta charset=utf-8><title>mluops: speed</title><style>";
  page += kStyle;
  page += "</style>\n<h1>mluops: speed</h1>\n<p>" + Escaped(MachineName());
  if (!rows.empty()) page += ", caches " + rows[0]["caches"].get<std::string>();
  page += "</p>\n<p><code>" + Escaped(command) +
          "</code></p>\n<table><tr><th>threads<th>moved<th>copy<th>fill</tr>";
  for (const Row& ceiling : ceilings) {
    page += Format("<tr><td>%d<td>%.0f MB<td>%.0f GB/s<td>%.0f GB/s</tr>",
                   ceiling["threads"].get<int>(), ceiling["bytes"].get<double>() / (1 << 20),
                   ceiling["copy_gb_s"].get<double>(), ceiling["fill_gb_s"].get<double>());
  }
  page +=
      "</table>\n<p class=key><i class=floor></i> floor: the bytes that must move, streamed over "
      "the "
      "operator's own buffers, the best of four ways · <i class=ours></i> mluops, least time · "
      "<i class=plain></i> plain loops, one thread. All of one run, turn by turn.</p>\n";
  std::vector<std::string> ops;  // in the order of the cases
  for (const Row& row : rows) {
    const auto op = row["op"].get<std::string>();
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  }
  for (const std::string& op : ops) {
    page += "<h2>" + Escaped(op) + "</h2>\n";
    for (const Row& row : rows) {
      if (row["op"] == op) page += CaseBars(row);
    }
  }
  return page + "</html>\n";
}

int Write(const std::string& name, const char* option, const std::string& text) {
  if (name.empty()) return 0;
  std::ofstream file(name);
  file << text;
  if (file.flush()) return 0;
  std::fprintf(stderr, "mluop: %s must be a file that can be written, got %s\n", option,
               name.c_str());
  return 2;
}

}  // namespace

int WriteFigures(const PerfOptions& options, const Row& rows, const Row& ceilings) {
  const int status = Write(options.json, "--json", rows.dump(2) + "\n");
  if (status != 0 || options.report.empty()) return status;
  return Write(options.report, "--report", Report(rows, ceilings, options.command));
}

}  // namespace mluop::tool
