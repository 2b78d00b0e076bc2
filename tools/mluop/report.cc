// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "html.h"
#include "peers.h"
#include "plots.h"
#include "terminal.h"

namespace mluop::tool {
namespace {

std::string CachesText(const Row& caches) {
  std::string text;
  for (const Row& cache : caches) {
    const std::string type = cache.value("type", "");
    const std::string kind = type == "Data" ? "d" : type == "Instruction" ? "i" : "";
    text += (text.empty() ? "L" : ", L") + std::to_string(cache.value("level", 0)) + kind + " " +
            BytesOf(cache.value("bytes", 0.0));
    if (cache.value("shared_by", 1) > 1)
      text += " for " + std::to_string(cache.value("shared_by", 1)) + " cores";
  }
  return text;
}

// Name and value of every fact of the machine, in words.
std::vector<std::pair<std::string, std::string>> MachineFacts(const Row& machine) {
  std::vector<std::pair<std::string, std::string>> facts;
  const auto number = [&](const char* key, const char* name, const char* format) {
    if (machine.contains(key)) facts.emplace_back(name, Format(format, Number(machine, key)));
  };
  const auto text = [&](const char* key, const char* name) {
    if (machine.contains(key)) facts.emplace_back(name, Escaped(Text(machine, key)));
  };
  text("device", "device");
  text("architecture", "architecture");
  number("cores", "cores", "%.0f");
  number("threads", "threads", "%.0f");
  text("isa", "instruction set");
  number("sm_count", "SMs", "%.0f");
  number("clock_mhz", "clock", "%.0f MHz");
  number("most_clock_mhz", "highest clock", "%.0f MHz");
  number("memory_clock_mhz", "memory clock", "%.0f MHz");
  number("memory_bus_bits", "memory bus", "%.0f bits");
  if (machine.contains("caches")) facts.emplace_back("caches", CachesText(machine["caches"]));
  if (machine.contains("memory_bytes"))
    facts.emplace_back("memory", BytesOf(Number(machine, "memory_bytes")));
  text("driver", "driver");
  text("host", "host");
  return facts;
}

std::string CeilingsText(const Row& ceilings) {
  std::vector<std::vector<std::string>> rows;
  std::string peaks;
  for (const Row& ceiling : ceilings) {
    const std::string threads =
        ceiling.contains("threads") ? std::to_string(ceiling["threads"].get<int>()) : "";
    if (ceiling.contains("peak_gflop_s")) {
      peaks += (peaks.empty() ? "Arithmetic peak: " : "; ") +
               Format("%.0f GFLOP/s", Number(ceiling, "peak_gflop_s")) +
               (threads.empty() ? "" : " with " + threads + " threads, " + Text(ceiling, "isa"));
      continue;
    }
    std::vector<std::string> row = {BytesOf(Number(ceiling, "bytes")),
                                    Format("%.0f GB/s", Number(ceiling, "copy_gb_s"))};
    if (!threads.empty()) {
      row.push_back(Format("%.0f GB/s", Number(ceiling, "fill_gb_s")));
      row.push_back(threads);
    }
    rows.push_back(row);
  }
  if (rows.empty()) return "";
  std::vector<std::string> head = {"moved", "copy"};
  if (rows[0].size() > 2) head.insert(head.end(), {"fill", "threads"});
  return TableOf(head, rows) + "<p>" + peaks +
         ". Efficiencies are shares of the largest copy and " +
         "of this peak, both measured in this run.</p>\n";
}

std::string Heading(const Row& document, const std::string& title) {
  const Row& machine = document.at("machine");
  std::string text = "<h1>" + title + "</h1>\n<p><b>" + Escaped(Text(machine, "name")) + "</b>, " +
                     Escaped(document.value("caches", "")) + "</p>\n<dl>\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    text += "<dt>" + name + "<dd>" + value + "\n";
  };
  for (const auto& [name, value] : MachineFacts(machine)) add(name, value);
  add("version", Escaped(document.value("version", "")));
  add("commit", Escaped(document.value("commit", "")));
  add("command", "<code>" + Escaped(document.value("command", "")) + "</code>");
  add("date",
      Escaped(document.value("date", "")) + Format(", %.0f s", document.value("duration_s", 0.0)));
  return text + "</dl>\n" + CeilingsText(document.value("ceilings", Row::array()));
}

// Names the floor of the device (docs/report.md).
std::string FloorText(const std::string& device) {
  return device == "cpu" ? "the fastest of six streams over the operator's own buffers"
                         : "the bytes that must move, copied on this device";
}

std::string KeyText(const Row& document, const Row& peers) {
  const Row& cases = document.at("cases");
  const std::string device = document["machine"].value("device", "");
  std::string text = "<p class='faint key'><i class='bar floor'></i> floor: " + FloorText(device) +
                     "; <i class='bar ours'></i> mluops, minimum time";
  if (!cases.empty() && cases[0].contains("plain_loops_s"))
    text += "; <i class='bar plain'></i> plain loops, one thread";
  text += ". All measured in one run.";
  for (const Row& file : peers) {
    if (Text(file, "device") != device.substr(0, device.find(':'))) continue;
    text += "<br><i class='bar peer'></i> peers on " + Escaped(Text(file, "device")) +
            ", measured on " + Escaped(Text(file["machine"], "name"));
    const std::string commit = Text(file, "commit");
    if (commit != "none") text += ", commit " + Escaped(commit).substr(0, 10);
    text += ": <code>" + Escaped(Text(file, "command")) + "</code>.";
  }
  return text + "</p>\n";
}

std::string PlotsText(const Row& document, const Row& peers) {
  const Row& cases = document.at("cases");
  const std::string error = ErrorPlot(document.value("operators", Row::array()));
  std::string text;
  if (!cases.empty()) {
    text +=
        "<h3>Efficiency</h3>\n<p class=faint>A dot per case: the higher of IO and compute "
        "efficiency. Dashed: 50 %. Hollow: below, with or without a reason.</p>\n" +
        EfficiencyPlot(cases) + "<h3>Speed</h3>\n<p class=faint>Time over the floor (dashed), " +
        FloorText(document["machine"].value("device", "")) +
        ". <span style='color:var(--peer)'>●</span> peers, measured "
        "elsewhere.</p>\n" +
        FloorPlot(cases, peers);
  }
  if (!error.empty()) {
    text +=
        "<h3>Accuracy</h3>\n<p class=faint>diff1 and diff2 of the worst case of each output "
        "over the threshold (dashed). Outputs that must be equal bit for bit have no "
        "dots.</p>\n" +
        error;
  }
  return text;
}

std::string SummaryText(const Row& summary) {
  std::string text;
  for (const Row& part : summary) {
    text += "<p><b>" + Escaped(Text(part, "title")) + ":</b>";
    if (part["items"].empty()) {
      text += " none.</p>\n";
      continue;
    }
    text += "</p><ul>\n";
    for (const Row& item : part["items"]) text += "<li>" + Escaped(item.get<std::string>()) + "\n";
    text += "</ul>\n";
  }
  return text;
}

// A command that measures something, and the result of its last recorded run.
std::string NightlyText(const Row& link) {
  std::string text = Escaped(Text(link, "how"));
  if (!link.contains("date")) return text;
  const std::string amount = Escaped(link.value("amount", ""));
  return text + ": " + (link.value("status", 0) == 0 ? "" : "failed, ") + amount +
         (amount.empty() ? "" : ", ") + "on " + Escaped(Text(link, "date")) + ", commit " +
         Escaped(link.value("commit", ""));
}

std::string LinksText(const Row& links) {
  std::string text;
  for (const Row& link : links) {
    const std::string file = link.value("file", "");
    text += "<li>" + Escaped(Text(link, "name")) + ": " +
            (file.empty() ? NightlyText(link)
                          : "<a href='" + Escaped(file) + "'>" + Escaped(file) + "</a>, of " +
                                Escaped(Text(link, "date"))) +
            "\n";
  }
  return text.empty() ? "" : "<h3>Measured by other commands</h3>\n<ul>\n" + text + "</ul>\n";
}

// The operators of a document, in the order of its sections.
std::vector<std::string> OperatorsOf(const Row& document) {
  std::vector<std::string> ops;
  const auto add = [&](const std::string& op) {
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  };
  for (const Row& op : document.value("operators", Row::array())) add(Text(op, "name"));
  for (const Row& row : document.at("cases")) add(Text(row, "op"));
  return ops;
}

std::string OperatorText(const Row& document, const std::string& name, const Row& peers) {
  std::string text = "<h2 id='" + name + "'>" + name + "</h2>\n";
  for (const Row& op : document.value("operators", Row::array())) {
    if (Text(op, "name") == name) text += OperatorSections(op);
  }
  std::vector<const Row*> rows, counters;
  for (const Row& row : document.at("cases")) {
    if (row["op"] == name) rows.push_back(&row);
  }
  if (document.contains("counters")) {
    for (const Row& row : document["counters"]) {
      if (row["op"] == name) counters.push_back(&row);
    }
  }
  if (!counters.empty()) text += "<h3>Counters</h3>\n" + CountersSection(counters);
  if (rows.empty()) return text;
  if (document.contains("operators")) text += "<h3>Performance</h3>\n";
  return text + PerformanceSection(rows, peers);
}

void PrintUnwritable(const std::string& name, const char* option) {
  std::fprintf(stderr, "mluop: %s must be a writable file, got %s\n", option, name.c_str());
}

}  // namespace

std::string DocumentPage(const Row& document, const Row& peers) {
  const bool full = document.contains("operators");
  const std::string title = full ? "mluops: test report" : "mluops: speed";
  std::string text = Heading(document, title);
  if (full) text += "<p><b>" + Escaped(document.value("verdict", "")) + "</b></p>\n";
  text += "<nav>";
  for (const std::string& op : OperatorsOf(document)) {
    text += "<a href='#" + op + "'>" + op + "</a>\n";
  }
  if (full) text += "<a href='#summary'>summary</a>\n";
  text += "</nav>\n" + PlotsText(document, peers);
  if (!document.contains("counters")) text += KeyText(document, peers);
  for (const std::string& op : OperatorsOf(document)) text += OperatorText(document, op, peers);
  if (full) {
    text += "<h2 id=summary>Summary</h2>\n" + SummaryText(document.at("summary")) +
            LinksText(document.value("links", Row::array()));
  }
  return PageOf(title, text);
}

bool IsWritable(const std::string& name, const char* option) {
  if (name.empty() || name == "-") return true;
  const std::filesystem::path parent = std::filesystem::path(name).parent_path();
  const bool exists = access(name.c_str(), F_OK) == 0;
  const std::string path = exists ? name : parent.empty() ? "." : parent.string();
  std::error_code error;
  if (access(path.c_str(), W_OK) == 0 && !std::filesystem::is_directory(name, error)) return true;
  PrintUnwritable(name, option);
  return false;
}

int WriteFile(const std::string& name, const char* option, const std::string& text) {
  if (name.empty()) return 0;
  if (name == "-") {
    if (WriteToStdout(text)) return 0;
  } else {
    std::ofstream file(name);
    file << text;
    if (file.flush()) return 0;
  }
  PrintUnwritable(name, option);
  return 2;
}

int WritePage(const PerfOptions& options, const Row& document) {
  const Row peers = ReadPeers(options.peers);
  if (options.report.empty()) return 0;
  return WriteFile(options.report, "--report", DocumentPage(document, peers));
}

}  // namespace mluop::tool
