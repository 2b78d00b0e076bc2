// SPDX-License-Identifier: Apache-2.0
// mluop perf and report on a device that counts instead of measuring time: the simulated MLU. Prints
// the counters of each call, and the bytes and operations that the operator needs at least.
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "commands.h"
#include "core/handle.h"
#include "testing/device_call.h"
#include "testing/work.h"

namespace mluop::tool {

Row CountCases(const Selection& selection, const Device& device) {
  const std::vector<testing::Case> cases = GroupByOperator(SelectCases(selection));
  std::printf("%s (%s): counters of one call; the device measures no times\n", device.name(),
              device.architecture());
  Row rows = Row::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    const testing::Case& c = cases[i];
    ShowProgress(i, cases.size(), c);
    testing::PreparedCall call(c, testing::Placement::kFront);
    const Handle handle(0);
    testing::DeviceCall placed(call, testing::Placement::kFront);
    const std::string error = placed.Run(handle.get(), call.WantedWorkspace(handle.get()));
    if (!error.empty()) throw std::runtime_error(c.line + ": " + error);
    const testing::Work work = c.test->work(call.arguments());
    EndProgress();
    std::printf("%s\n  needed at least: bytes %.0f, operations %.0f\n", c.line.c_str(), work.bytes,
                work.operations);
    std::istringstream counters(device.CallCounters());
    Row lines = Row::array();
    for (std::string line; std::getline(counters, line);) {
      std::printf("  %s\n", line.c_str());
      lines.push_back(line);
    }
    rows.push_back({{"case", c.line},
                    {"op", c.test->name},
                    {"bytes", work.bytes},
                    {"operations", work.operations},
                    {"counters", lines}});
  }
  return rows;
}

}  // namespace mluop::tool
