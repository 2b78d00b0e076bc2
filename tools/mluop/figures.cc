// SPDX-License-Identifier: Apache-2.0
#include "figures.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <set>
#include <vector>

#include "efficiency.h"
#include "html.h"

namespace mluop::tool {
namespace {

constexpr size_t kWidth = 120, kIndent = 62;  // characters per line; indent of the case column

// The summary lists cases above this ratio to the floor. On the CPU the floor of a small case is a
// copy inside L1 or L2; on a GPU it is always a copy in device memory.
constexpr double kFarOnCpu = 10, kFarOnDevice = 5;

// Above this ratio of median to minimum, other work disturbed the measurement.
constexpr double kUnsteady = 1.3;

std::string Formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

// A share in percent with the mark of a remark: "232%a".
std::string ShareText(const Row& row, const char* key) {
  if (Number(row, key) == 0) return "- ";
  std::string mark;
  const bool io = key == std::string("io_efficiency");
  for (const Row& remark : row.value("remarks", Row::array())) {
    const bool on_floor = Text(remark, "mark") == "d";
    if (io && !on_floor) mark = Text(remark, "mark");
  }
  return Formatted("%.0f%%", Number(row, key) * 100) + (mark.empty() ? " " : mark);
}

// The ratio to the floor with the mark of a remark.
std::string FloorText(const Row& row) {
  std::string mark = " ";
  for (const Row& remark : row.value("remarks", Row::array())) {
    if (Text(remark, "mark") == "d") mark = "d";
  }
  return Formatted("%.2f", Number(row, "ratio_to_floor")) + mark;
}

// The second column: the speedup over the plain loops, or the host's time for a call.
std::string SecondFigure(const Row& row) {
  if (row.contains("host_s")) return Formatted("%.1f us", Number(row, "host_s") * 1e6);
  return row.contains("speedup") ? Formatted("%.1f", Number(row, "speedup")) : "-";
}

// Prints words from `column` on; words that do not fit begin a new line at the indent.
void PrintWrapped(const std::string& text, size_t column, size_t indent) {
  bool first = true;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(' ', start), text.size());
    if (!first && column + 1 + end - start > kWidth) {
      std::printf("\n%*s", static_cast<int>(indent), "");
      column = indent;
    } else if (!first) {
      std::printf(" ");
      ++column;
    }
    std::printf("%s", text.substr(start, end - start).c_str());
    column += end - start;
    start = end + 1;
    first = false;
  }
  std::printf("\n");
}

// Minimum, median and maximum of a value over all rows that have it.
struct Range {
  double least, median, most;
};
Range RangeOf(const Row& rows, const char* key) {
  std::vector<double> values;
  for (const Row& row : rows) values.push_back(Number(row, key));
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

// Lists the operators that have a row with is_listed(row), each with its largest value: "transpose
// (1.23)".
template <class Predicate>
std::string ListOf(const Row& rows, const char* key, Predicate is_listed) {
  std::map<std::string, double> largest;
  for (const Row& row : rows) {
    if (!is_listed(row)) continue;
    double& figure = largest[Text(row, "op")];
    figure = std::max(figure, Number(row, key));
  }
  std::string list;
  for (const auto& [op, figure] : largest) {
    list += (list.empty() ? "" : ", ") + op + Formatted(" (%.1f)", figure);
  }
  return list.empty() ? "none" : list;
}

void PrintSlow(const Figures& figures, bool plain) {
  if (plain) {
    const std::string list =
        ListOf(figures.rows, "speedup", [](const Row& row) { return Number(row, "speedup") < 1; });
    PrintWrapped("Slower than plain loops: " + list + ".", 0, 2);
  }
  const double far = plain ? kFarOnCpu : kFarOnDevice;
  const std::string list = ListOf(figures.rows, "ratio_to_floor", [far](const Row& row) {
    return Number(row, "ratio_to_floor") > far;
  });
  PrintWrapped(Formatted("More than %.0f x the floor: ", far) + list + ".", 0, 2);
}

// Explains the marks of the table.
void PrintMarks(const Row& rows) {
  std::set<std::string> marks;
  for (const Row& row : rows) {
    for (const Row& remark : row.value("remarks", Row::array())) {
      marks.insert(Text(remark, "mark"));
    }
  }
  for (const std::string& mark : marks) {
    std::printf("%s: %s\n", mark.c_str(), MeaningOf(mark));
  }
}

// Counts the rows that meet the acceptance rule, and names the operators with rows that have no
// reason.
void PrintEfficiency(const Row& rows) {
  int met = 0, explained = 0;
  std::set<std::string> open;
  for (const Row& row : rows) {
    const bool is_met = row.value("met", false), has_reason = !row.value("reason", "").empty();
    met += is_met;
    explained += !is_met && has_reason;
    if (!is_met && !has_reason) open.insert(Text(row, "op"));
  }
  std::string names;
  for (const std::string& op : open) names += (names.empty() ? "" : ", ") + op;
  PrintWrapped(
      Format("%d of %zu reach 50 %% of the memory's or the arithmetic's rate, %d more have "
             "a reason. Without a reason: ",
             met, rows.size(), explained) +
          (names.empty() ? "none" : names) + ".",
      0, 2);
}

}  // namespace

Row DocumentOf(const Figures& figures, const std::string& command, int64_t started) {
  return {{"machine", figures.machine},
          {"command", command},
          {"commit", kCommit},
          {"version", Format("%d.%d.%d", MLUOP_MAJOR, MLUOP_MINOR, MLUOP_PATCHLEVEL)},
          {"date", DateText(started)},
          {"duration_s", static_cast<int64_t>(std::time(nullptr)) - started},
          {"caches", figures.caches},
          {"ceilings", figures.ceilings},
          {"cases", figures.rows}};
}

std::string TimeText(double seconds) {
  if (seconds < 1e-3) return Formatted("%.1f us", seconds * 1e6);
  if (seconds < 1) return Formatted("%.2f ms", seconds * 1e3);
  return Formatted("%.2f s", seconds);
}

std::string CaseArguments(const Row& row) {
  const std::string line = Text(row, "case");
  const size_t space = line.find(' ');
  return space == std::string::npos ? "" : line.substr(space + 1);
}

std::string SettingText(const Row& row) {
  if (row.contains("mode")) return Text(row, "mode") == "allowed" ? "atomics allowed" : "";
  return std::to_string(row["threads"].get<int>()) + " threads, " + Text(row, "isa");
}

void Table::PrintHeader(const std::string& caches) const {
  std::printf("%9s %8s %8s %7s %8s  %-15s case (%s)\n", "time", on_cpu_ ? "x plain" : "host",
              "x floor ", "IO ", "compute ", "implementation", caches.c_str());
}

void Table::Print(const Row& row) {
  if (const std::string op = Text(row, "op"); op != op_) {
    std::printf("%s\n", op.c_str());
    op_ = op;
  }
  std::printf("%9s %8s %8s %7s %8s  %-15s ", TimeText(Number(row, "min_s")).c_str(),
              SecondFigure(row).c_str(), FloorText(row).c_str(),
              ShareText(row, "io_efficiency").c_str(), ShareText(row, "compute_efficiency").c_str(),
              Text(row, "implementation").c_str());
  const std::string setting = SettingText(row);
  const bool shows_setting = !setting.empty() && (settings_ || row.contains("mode"));
  PrintWrapped((shows_setting ? setting + ": " : "") + CaseArguments(row), kIndent, kIndent);
  std::fflush(stdout);
}

void PrintVerdict(const Figures& figures) {
  const Row& rows = figures.rows;
  if (rows.empty()) return;
  PrintMarks(rows);
  const bool plain = rows[0].contains("speedup");
  const char* const key = plain ? "speedup" : "ratio_to_floor";
  const Range range = RangeOf(rows, key);
  std::printf("%zu measurements: %.1fx to %.1fx the %s (median %.1fx).\n", rows.size(), range.least,
              range.most, plain ? "speed of plain loops" : "floor", range.median);
  PrintSlow(figures, plain);
  PrintEfficiency(rows);
  const auto unsteady = std::count_if(rows.begin(), rows.end(), [](const Row& row) {
    return row.contains("median_s") && Number(row, "median_s") > kUnsteady * Number(row, "min_s");
  });
  if (static_cast<size_t>(unsteady) > rows.size() / 4) {
    std::printf("%td measurements are noisy (median over %.1fx the minimum).\n", unsteady,
                kUnsteady);
  }
}

}  // namespace mluop::tool
