// SPDX-License-Identifier: Apache-2.0
// mluop report: tests every operator, breaks every rule of its parameters, and measures the shapes
// of networks and documents (a simulated device: counts). Writes a page and a JSON file.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "core/operator.h"
#include "html.h"
#include "operator_report.h"
#include "peers.h"
#include "report.h"
#include "testing/isa.h"
#include "testing/notes.h"

namespace mluop::tool {
namespace {

using testing::Case;

constexpr double kQuickSeconds = 0.01;  // per case

// The built-in sets that are measured; a file or case lines are measured whole.
const std::set<std::string> kMeasuredSets = {"networks", "documents"};

// The operators of the cases, in their order.
std::vector<const testing::OperatorTest*> TestsOf(const std::vector<Case>& cases) {
  std::vector<const testing::OperatorTest*> tests;
  for (const Case& c : cases) {
    if (std::find(tests.begin(), tests.end(), c.test) == tests.end()) tests.push_back(c.test);
  }
  return tests;
}

// Identifies a case: recorded calls may have equal lines and other inputs.
std::string KeyOf(const Case& c) { return c.line + "\n" + c.npz; }

// Runs all tests of one operator. Adds the keys of the cases that failed to `failed`.
Row OperatorReport(const testing::OperatorTest& test, const std::vector<Case>& cases,
                   const Selection& selection, const Device& device, bool quick,
                   std::set<std::string>* failed) {
  const std::string name(test.name);
  Row op = {{"name", name},
            {"description", testing::NoteOf(name, "description")},
            {"criterion", CriterionOf(test)},
            {"checklist", ChecklistOf(testing::FindOperator(name)->spec)}};
  FunctionalTests tests(selection, device, quick);
  int count = 0, passed = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].test != &test) continue;
    ShowProgress(i, cases.size(), cases[i]);
    const bool ok = tests.Run(cases[i]);
    ++count;
    passed += ok;
    if (!ok) failed->insert(KeyOf(cases[i]));
  }
  EndProgress();
  tests.AddTo(&op);
  op["parameter_checks"] = ParameterChecksOf(name);
  op["cases"] = count;
  op["passed"] = passed;
  op["refused"] = tests.refused();
  std::printf("%-34s %4d of %4d cases passed, %3zu parameter rules\n", name.c_str(), passed, count,
              op["parameter_checks"].size());
  std::fflush(stdout);
  return op;
}

// Returns the cases to measure: of built-in cases the sets in kMeasuredSets, without failed cases.
Selection MeasuredSelection(const Selection& selection, const std::set<std::string>& failed) {
  const bool built_in = selection.lines.empty() && selection.files.empty() && selection.set.empty();
  Selection reselected = selection;
  Selection measured = selection;
  std::set<std::string> known = failed;
  for (const std::string& set : built_in ? kMeasuredSets : std::set<std::string>{selection.set}) {
    reselected.set = set;
    if (built_in && SetNames().find(set) == std::string::npos) continue;
    try {
      for (const Case& c : SelectCases(reselected)) {
        if (known.insert(KeyOf(c)).second) measured.cases.push_back(c);
      }
    } catch (const std::invalid_argument&) {
      continue;  // the operator has no case in this set
    }
  }
  return measured;
}

// Lists the results of other commands: the file and its date if --link gives it, else the last
// nightly run.
Row LinksOf(const std::vector<std::string>& options) {
  Row links = {{{"name", "leaks and invalid accesses"}, {"how", "make valgrind"}},
               {{"name", "sanitizers"}, {"how", "make test"}},
               {{"name", "data races"}, {"how", "make tsan"}},
               {{"name", "coverage"}, {"how", "make coverage"}}};
  const Row quality = Row::parse(BuiltInQuality());
  for (Row& link : links) {
    const Row step = quality.value(Text(link, "how").substr(std::strlen("make ")), Row::object());
    for (const char* key : {"date", "commit", "amount", "status"}) {
      if (step.contains(key)) link[key] = step[key];
    }
  }
  for (const std::string& option : options) {
    const size_t equal = option.find('=');
    const std::string file = equal == std::string::npos ? "" : option.substr(equal + 1);
    struct stat facts = {};
    if (file.empty() || stat(file.c_str(), &facts) != 0)
      throw std::invalid_argument("--link must be NAME=FILE with a readable file, got " + option);
    const Row link = {{"name", option.substr(0, equal)},
                      {"file", std::filesystem::absolute(file).string()},
                      {"date", DateText(facts.st_mtime)}};
    const auto same = std::find_if(links.begin(), links.end(),
                                   [&](const Row& row) { return row["name"] == link["name"]; });
    if (same != links.end()) {
      *same = link;
    } else {
      links.push_back(link);
    }
  }
  return links;
}

std::string VerdictOf(const Row& document) {
  int cases = 0, passed = 0, checks = 0, right = 0, met = 0;
  for (const Row& op : document["operators"]) {
    cases += op.value("cases", 0);
    passed += op.value("passed", 0);
    for (const Row& check : op["parameter_checks"]) right += check.value("passed", false);
    checks += static_cast<int>(op["parameter_checks"].size());
  }
  for (const Row& row : document["cases"]) met += row.value("met", false);
  const std::string text =
      Format("%d of %d cases passed, %d of %d broken rules were refused as the table says", passed,
             cases, right, checks);
  if (document.contains("counters")) return text + "; the device measures no times.";
  return text +
         Format(", %d of %zu measurements reach 50 %% of the memory's or the arithmetic's rate.",
                met, document["cases"].size());
}

bool HasFailure(const Row& summary) {
  // Not accurate enough, refused, parameter checks.
  for (size_t i = 0; i < 3; ++i) {
    if (!summary[i]["items"].empty()) return true;
  }
  return false;
}

// The figures of the measured cases; only the device's name if there are none.
Figures MeasureCases(Device* device, const Selection& measured, const ReportOptions& options) {
  PerfOptions perf = options.perf;
  if (options.quick) perf.seconds = std::min(perf.seconds, kQuickSeconds);
  perf.plain = !options.quick;
  InstallFaultHandler("perf", measured);
  if (!measured.cases.empty() && !device->counts_only()) return MeasureOn(device, measured, perf);
  Figures none;
  if (device->counts_only()) none.caches = "counters instead of times";
  none.machine = {{"name", device->counts_only() ? "Simulated MLU" : device->name()},
                  {"device", device->name()},
                  {"architecture", device->architecture()}};
  return none;
}

// Writes both files into the folder. Returns the exit status.
int WriteReport(const std::string& folder, const Row& document, const Row& peers) {
  const std::string page = folder + "/report.html", json = folder + "/report.json";
  int status = WriteFile(json, "--out", document.dump(1) + "\n");
  if (status == 0) status = WriteFile(page, "--out", DocumentPage(document, peers));
  if (status == 0)
    std::printf("Report after %.0f s: %s\n", Number(document, "duration_s"), page.c_str());
  return status;
}

}  // namespace

int Report(const Selection& selection, const ReportOptions& options, Row* result) {
  const int64_t started = std::time(nullptr);
  const Row links = LinksOf(options.links);
  Row peers = ParseBuiltInPeers();
  for (const Row& file : ReadPeers(options.perf.peers)) peers.push_back(file);
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) throw std::invalid_argument("--out must be a folder, got " + options.out);
  const std::vector<Case> cases = SelectCases(selection);
  Device* const device = UseDevice(selection);
  InstallFaultHandler("check", selection);
  Row operators = Row::array();
  std::set<std::string> failed;
  for (const testing::OperatorTest* test : TestsOf(cases)) {
    operators.push_back(OperatorReport(*test, cases, selection, *device, options.quick, &failed));
  }
  testing::ResetIsa();
  const Selection measured = MeasuredSelection(selection, failed);
  const Figures figures = MeasureCases(device, measured, options);
  Row document = DocumentOf(figures, options.perf.command, started);
  if (device->counts_only())
    document["counters"] = measured.cases.empty() ? Row::array() : CountCases(measured, *device);
  document["operators"] = operators;
  document["links"] = links;
  document["peers"] = peers;
  document["summary"] = SummaryOf(document, peers);
  document["verdict"] = VerdictOf(document);
  std::printf("\n%s\n", Text(document, "verdict").c_str());
  const int status = WriteReport(options.out, document, peers);
  const bool failed_any = HasFailure(document["summary"]);
  *result = std::move(document);
  return status != 0 ? status : failed_any;
}

}  // namespace mluop::tool
