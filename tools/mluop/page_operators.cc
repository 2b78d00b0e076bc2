// SPDX-License-Identifier: Apache-2.0
// The sections of a page about an operator: description, checklist, tests, parameters.
#include "html.h"
#include "report.h"

namespace mluop::tool {
namespace {

std::string ListText(const Row& items) {
  std::string text;
  for (const Row& item : items) {
    text += (text.empty() ? "" : "<br>") + Escaped(item.get<std::string>());
  }
  return text.empty() ? "none" : text;
}

// The checklist is an object of lists: {"types": ["float"], ...}.
std::string ChecklistText(const Row& checklist) {
  std::string text = "<dl>\n";
  for (const auto& [name, items] : checklist.items()) {
    text += "<dt>" + Escaped(name) + "<dd>" + ListText(items) + "\n";
  }
  return text + "</dl>\n";
}

std::string CountText(int passed, int count) {
  return Badge(passed == count ? "good" : "bad", Format("%d of %d", passed, count));
}

std::string TestsText(const Row& tests) {
  std::vector<std::vector<std::string>> rows;
  for (const Row& test : tests) {
    const int count = test.value("cases", 0);
    if (count == 0) {
      rows.push_back({Escaped(Text(test, "kind")), "none", ""});
      continue;
    }
    rows.push_back({Escaped(Text(test, "kind")), CountText(test.value("passed", 0), count),
                    Format("%d", test.value("runs", 0))});
  }
  return TableOf({"kind", "cases that passed", "runs"}, rows);
}

std::string WorstText(const Row& outputs) {
  std::vector<std::vector<std::string>> rows;
  for (const Row& worst : outputs) {
    const auto figure = [&](const char* key) {
      return worst.contains(key) ? Format("%.2g", Number(worst, key)) : std::string("–");
    };
    rows.push_back({Escaped(Text(worst, "output")), Escaped(Text(worst, "criterion")),
                    figure("diff1"), figure("diff2"), figure("diff3"), figure("diff4"),
                    figure("threshold"),
                    worst.value("passed", false) ? Badge("good", "passed") : Badge("bad", "failed"),
                    "<code>" + Escaped(worst.value("case", "")) + "</code>"});
  }
  return TableOf({"output", "criterion", "diff1", "diff2", "diff3", "diff4", "threshold", "verdict",
                  "worst case"},
                 rows);
}

std::string FailuresText(const Row& failures) {
  std::string text;
  for (const Row& failure : failures) {
    text += "<p>" + Badge("bad", "failed") + " <code>" + Escaped(Text(failure, "case")) +
            "</code><br>" + Escaped(Text(failure, "error")) +
            "<br><span class=faint>repeat: <code>" + Escaped(Text(failure, "repeat")) +
            "</code></span></p>\n";
  }
  return text;
}

std::string ParameterText(const Row& checks) {
  std::vector<std::vector<std::string>> rows;
  int passed = 0;
  for (const Row& check : checks) {
    const bool ok = check.value("passed", false);
    passed += ok;
    rows.push_back({Escaped(Text(check, "entry")), Escaped(Text(check, "rule")),
                    Escaped(Text(check, "status")) + (ok ? "" : " " + Badge("bad", "wrong")),
                    Escaped(Text(check, "message"))});
  }
  const int count = static_cast<int>(rows.size());
  return Format("<details%s><summary>", passed == count ? "" : " open") + CountText(passed, count) +
         " broken rules are refused with their status</summary>\n" +
         TableOf({"function", "rule", "status", "message"}, rows) + "</details>\n";
}

}  // namespace

std::string OperatorSections(const Row& op) {
  std::string text = "<p>" + Escaped(op.value("description", "")) +
                     "</p>\n<p>Accuracy: " + Escaped(op.value("criterion", "")) +
                     "</p>\n<h3>Checklist</h3>\n" + ChecklistText(op.at("checklist")) +
                     "<h3>Functional tests</h3>\n" + FailuresText(op.at("failures")) +
                     TestsText(op.at("tests")) + WorstText(op.at("worst"));
  return text + "<h3>Parameter checks</h3>\n" + ParameterText(op.at("parameter_checks"));
}

}  // namespace mluop::tool
