// SPDX-License-Identifier: Apache-2.0
// mluop perf: how fast is it, against the bytes that must move and against the plain loops? All
// times of a case are taken turn by turn in one process; figures to quote are the ratios.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <vector>

#include "commands.h"
#include "core/handle.h"
#include "core/scratch.h"
#include "mluops/extensions.h"
#include "report.h"
#include "streams.h"
#include "testing/isa.h"
#include "testing/prepared_call.h"

namespace mluop::tool {
namespace {

using testing::Case;
using testing::Placement;
using testing::PreparedCall;

constexpr size_t kMostRuns = 2000;
constexpr double kTurn = 1e-3;  // seconds that a contender has before it is another's turn

double Seconds(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Something that is timed, and its times.
struct Contender {
  std::function<void()> run;
  double budget;  // seconds
  std::vector<double> times = {};
  double spent = 0;

  bool Done() const { return times.size() >= 3 && (spent >= budget || times.size() >= kMostRuns); }
  void Time() {
    times.push_back(Seconds(run));
    spent += times.back();
  }
  double Quantile(double q) const {
    std::vector<double> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))];
  }
};

// Turn by turn, so that a slow moment of the machine is everybody's. Hot: each turn begins with a
// run that does not count. Cold: `flush` before every run.
void MeasureTogether(std::vector<Contender>& contenders, const std::function<void()>& flush) {
  for (bool busy = true; busy;) {
    busy = false;
    for (Contender& contender : contenders) {
      if (contender.Done()) continue;
      busy = true;
      if (flush) {
        flush();
        contender.Time();
        continue;
      }
      contender.run();
      const double end = contender.spent + kTurn;
      do {
        contender.Time();
      } while (contender.spent < end && !contender.Done());
    }
  }
}

// The bytes that must move, over the operator's own buffers: all of the outputs, and of each input
// the share that is needed.
Traffic TrafficOf(const PreparedCall& call, double bytes) {
  const Arguments& arguments = call.arguments();
  Traffic all;
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    const TensorArgument& tensor = arguments.tensors[i];
    if (tensor.desc == nullptr) continue;
    auto* data = static_cast<char*>(tensor.data);
    if (arguments.spec->tensors[i].direction == kOut) {
      all.writes.push_back({data, tensor.ByteCount()});
    } else {
      all.reads.push_back({data, tensor.ByteCount()});
    }
  }
  double written = 0, read = 0;
  for (const auto& write : all.writes) written += static_cast<double>(write.bytes);
  for (const auto& piece : all.reads) read += static_cast<double>(piece.bytes);
  const double share = read == 0 ? 0 : std::clamp((bytes - written) / read, 0.0, 1.0);
  for (auto& piece : all.reads) {
    piece.bytes = static_cast<size_t>(static_cast<double>(piece.bytes) * share);
  }
  return all;
}

Row PerfCase(const Case& c, const std::string& isa, const Handle& handle,
             const PerfOptions& options) {
  PreparedCall call(c, Placement::kFront);
  call.SetWorkspace(call.WantedWorkspace(handle.get()));
  call.PoisonOutputs();
  const double bytes = c.test->bytes(call.arguments());
  const Traffic needed = TrafficOf(call, bytes), everything = TrafficOf(call, HUGE_VAL);
  const double budget = options.seconds;
  std::vector<Contender> contenders;
  contenders.push_back({[&] {
                          if (call.Run(handle.get()) == MLUOP_STATUS_SUCCESS) return;
                          throw std::runtime_error(c.line + ": " + mluOpGetLastErrorMessage());
                        },
                        budget});
  contenders.push_back({[&] { call.RunPlain(); }, budget / 3});
  for (const Way way : kWays) {
    contenders.push_back({[&, way] { Move(needed, way, handle.get()->threads); }, budget / 6});
  }
  MeasureTogether(contenders, options.cold ? [&] { Flush(everything); } : std::function<void()>());
  const Contender& ours = contenders[0];
  double floor = HUGE_VAL;
  for (size_t i = 2; i < contenders.size(); ++i) {
    floor = std::min(floor, contenders[i].Quantile(0));
  }
  const double least = ours.Quantile(0), plain = contenders[1].Quantile(0);
  return {{"case", c.line},
          {"op", c.test->name},
          {"device", handle.get()->device->name()},
          {"isa", isa},
          {"threads", handle.threads()},
          {"caches", options.cold ? "cold" : "hot"},
          {"min_s", least},
          {"median_s", ours.Quantile(0.5)},
          {"p90_s", ours.Quantile(0.9)},
          {"bytes", bytes},
          {"gb_per_s", bytes / least * 1e-9},
          {"floor_s", floor},
          {"ratio_to_floor", least / floor},
          {"io_efficiency", floor / least},
          {"plain_loops_s", plain},
          {"speedup", plain / least}};
}

// GB/s of a copy and of a fill of so many bytes, the best of all ways.
Row Ceiling(size_t bytes, const Handle& handle) {
  const auto free = [](char* p) { FreeAligned(p); };
  std::unique_ptr<char, decltype(free)> memory(static_cast<char*>(AllocateAligned(bytes)), free);
  if (memory == nullptr) throw std::bad_alloc();
  char* const middle = memory.get() + bytes / 2;
  const Traffic copy = {{{memory.get(), bytes / 2}}, {{middle, bytes / 2}}};
  const Traffic fill = {{}, {{memory.get(), bytes}}};
  double best[2] = {HUGE_VAL, HUGE_VAL};
  for (int kind = 0; kind < 2; ++kind) {
    std::vector<Contender> contenders;
    for (const Way way : kWays) {
      contenders.push_back(
          {[&, way] { Move(kind == 0 ? copy : fill, way, handle.get()->threads); }, 0.02});
    }
    MeasureTogether(contenders, nullptr);
    for (const Contender& contender : contenders) {
      best[kind] = std::min(best[kind], contender.Quantile(0));
    }
  }
  const auto size = static_cast<double>(bytes);
  return {
      {"bytes", size}, {"copy_gb_s", size / best[0] * 1e-9}, {"fill_gb_s", size / best[1] * 1e-9}};
}

Row Ceilings(const Handle& handle) {
  Row ceilings = Row::array();
  for (const size_t megabytes : {1, 32, 512}) {
    ceilings.push_back(Ceiling(megabytes << 20, handle));
    std::printf("%4zu MB: copy %.0f GB/s, fill %.0f GB/s\n", megabytes,
                ceilings.back()["copy_gb_s"].get<double>(),
                ceilings.back()["fill_gb_s"].get<double>());
  }
  return ceilings;
}

void PrintHeader(bool cold) {
  std::printf("%10s %10s %6s %8s %8s %8s %9s  case (%s; floor: the same bytes, streamed)\n",
              "min us", "median us", "p90/md", "GB/s", "x floor", "IO eff.", "x plain",
              cold ? "cold" : "hot");
}

void PrintRow(const Row& row) {
  const auto number = [&](const char* key) { return row[key].get<double>(); };
  std::printf("%10.2f %10.2f %6.2f %8.1f %8.2f %7.0f%% %9.1f  %s\n", number("min_s") * 1e6,
              number("median_s") * 1e6, number("p90_s") / number("median_s"), number("gb_per_s"),
              number("ratio_to_floor"), number("io_efficiency") * 100, number("speedup"),
              row["case"].get<std::string>().c_str());
  std::fflush(stdout);
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

int Perf(const Selection& selection, const PerfOptions& options) {
  const std::vector<Case> cases = SelectCases(selection);
  const std::string isa = SelectIsas(selection, {testing::SupportedIsas().front()}).front();
  InstallFaultHandler("perf");
  testing::ForceIsa(isa);
  const Handle handle(selection.threads);
  std::printf("%s, %s, %d threads\n", MachineName().c_str(), isa.c_str(), handle.threads());
  const Row ceilings = Ceilings(handle);
  PrintHeader(options.cold);
  Row rows = Row::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    ShowProgress(i, cases.size(), cases[i].line);
    rows.push_back(PerfCase(cases[i], isa, handle, options));
    EndProgress();
    PrintRow(rows.back());
  }
  const int status = Write(options.json, "--json", rows.dump(2) + "\n");
  if (status != 0 || options.report.empty()) return status;
  return Write(options.report, "--report", Report(rows, ceilings, options.command));
}

}  // namespace mluop::tool
