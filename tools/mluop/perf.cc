// SPDX-License-Identifier: Apache-2.0
// mluop perf: how fast is it, against the bytes that must move and against the plain loops? All
// times are of warm runs in one process; figures to quote are the ratios.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <vector>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "core/handle.h"
#include "core/scratch.h"
#include "mluops/extensions.h"
#include "testing/isa.h"
#include "testing/prepared_call.h"

namespace mluop::tool {
namespace {

using testing::Case;
using testing::Placement;
using testing::PreparedCall;

constexpr int kWarmUps = 4;
constexpr size_t kMostRuns = 2000;

struct Timing {
  double min = 0;
  double median = 0;
  double p90 = 0;
};

double Seconds(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs until `budget` seconds are spent, three times at least.
Timing Measure(double budget, const std::function<void()>& work) {
  std::vector<double> times;
  double spent = 0;
  while (times.size() < 3 || (spent < budget && times.size() < kMostRuns)) {
    times.push_back(Seconds(work));
    spent += times.back();
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2], times[times.size() * 9 / 10]};
}

// The time to copy bytes/2 to another place on the handle's threads: as many bytes moved as the
// operator must move, at the machine's copy speed for that size.
double CopyFloor(double bytes, mluOpHandle_t handle, double budget) {
  const auto half = static_cast<size_t>(bytes / 2) + 1;
  const auto free = [](char* p) { FreeAligned(p); };
  std::unique_ptr<char, decltype(free)> from(static_cast<char*>(AllocateAligned(half)), free);
  std::unique_ptr<char, decltype(free)> to(static_cast<char*>(AllocateAligned(half)), free);
  if (from == nullptr || to == nullptr) throw std::bad_alloc();
  std::memset(from.get(), 1, half);
  std::memset(to.get(), 2, half);
  const auto copy = [&] {
    handle->threads.For(static_cast<int64_t>(half), 1 << 16, [&](int64_t begin, int64_t end, int) {
      std::memcpy(to.get() + begin, from.get() + begin, static_cast<size_t>(end - begin));
    });
  };
  for (int i = 0; i < kWarmUps; ++i) copy();
  return Measure(budget, copy).min;
}

nlohmann::ordered_json PerfCase(const Case& c, const std::string& isa, const Handle& handle,
                                double budget) {
  PreparedCall call(c, Placement::kFront);
  call.SetWorkspace(call.WantedWorkspace(handle.get()));
  call.PoisonOutputs();
  const auto run = [&] {
    if (call.Run(handle.get()) == MLUOP_STATUS_SUCCESS) return;
    throw std::runtime_error(c.line + ": " + mluOpGetLastErrorMessage());
  };
  for (int i = 0; i < kWarmUps; ++i) run();
  const Timing ours = Measure(budget, run);
  const double bytes = c.test->bytes(call.arguments());
  const double floor = CopyFloor(bytes, handle.get(), budget / 3);
  const Timing plain = Measure(budget / 3, [&] { call.RunPlain(); });
  return {{"case", c.line},
          {"op", c.test->name},
          {"device", handle.get()->device->name()},
          {"isa", isa},
          {"threads", handle.threads()},
          {"min_s", ours.min},
          {"median_s", ours.median},
          {"p90_s", ours.p90},
          {"bytes", bytes},
          {"gb_per_s", bytes / ours.min * 1e-9},
          {"floor_s", floor},
          {"ratio_to_floor", ours.min / floor},
          {"io_efficiency", floor / ours.min},
          {"plain_loops_s", plain.min},
          {"speedup", plain.min / ours.min}};
}

void PrintHeader() {
  std::printf("%10s %10s %6s %8s %8s %8s %9s  %s\n", "min us", "median us", "p90/md", "GB/s",
              "x floor", "IO eff.", "x plain", "case (hot; floor = copy of the same bytes)");
}

void PrintRow(const nlohmann::ordered_json& row) {
  const auto number = [&](const char* key) { return row[key].get<double>(); };
  std::printf("%10.2f %10.2f %6.2f %8.1f %8.2f %7.0f%% %9.1f  %s\n", number("min_s") * 1e6,
              number("median_s") * 1e6, number("p90_s") / number("median_s"), number("gb_per_s"),
              number("ratio_to_floor"), number("io_efficiency") * 100, number("speedup"),
              row["case"].get<std::string>().c_str());
  std::fflush(stdout);
}

}  // namespace

int Perf(const Selection& selection, const PerfOptions& options) {
  const std::vector<Case> cases = SelectCases(selection);
  const std::string isa = SelectIsas(selection, {testing::SupportedIsas().front()}).front();
  InstallFaultHandler("perf");
  testing::ForceIsa(isa);
  const Handle handle(selection.threads);
  std::printf("cpu, %s, %d threads\n", isa.c_str(), handle.threads());
  PrintHeader();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    ShowProgress(i, cases.size(), cases[i].line);
    rows.push_back(PerfCase(cases[i], isa, handle, options.seconds));
    EndProgress();
    PrintRow(rows.back());
  }
  if (options.json.empty()) return 0;
  std::ofstream file(options.json);
  file << rows.dump(2) << "\n";
  if (file.flush()) return 0;
  std::fprintf(stderr, "mluop: --json must be a file that can be written, got %s\n",
               options.json.c_str());
  return 2;
}

}  // namespace mluop::tool
