// SPDX-License-Identifier: Apache-2.0
// mluop run: checks the cases, measures them, and prints a summary.
#include <cstdio>
#include <ctime>

#include "commands.h"
#include "figures.h"
#include "html.h"
#include "report.h"

namespace mluop::tool {

int CheckAndMeasure(const Selection& selection, const PerfOptions& options, Row* document) {
  const int64_t started = std::time(nullptr);
  Device* const device = UseTimedDevice(selection);
  const bool skip = !options.checked.empty();
  const Score checks = skip ? Score("check", selection) : CheckCases(selection, /*quick=*/true);
  const int count = checks.passed + checks.failed;
  if (!skip) std::printf("%d of %d cases agree with the reference\n", checks.passed, count);
  InstallFaultHandler("perf", selection);
  const Figures figures = MeasureOn(device, selection, options);
  const std::string name = Text(figures.machine, "name");
  if (skip) {
    std::printf("\nVerdict: measured on %s. All checks passed before, on %s.\n", name.c_str(),
                options.checked.c_str());
  } else {
    std::printf("\nVerdict: %d of %d checks passed on %s.\n", checks.passed, count, name.c_str());
  }
  PrintVerdict(figures);
  *document = DocumentOf(figures, options.command, started);
  (*document)["checks"] = checks.Document();
  if (skip) (*document)["checks"]["passed_before"] = options.checked;
  const int status = WritePage(options, *document);
  if (status == 0 && !options.report.empty()) std::printf("Report: %s\n", options.report.c_str());
  return status != 0 ? status : checks.failed != 0;
}

}  // namespace mluop::tool
