// SPDX-License-Identifier: Apache-2.0
// mluop perf: how fast is it, against the bytes that must move, the arithmetic that must be done and
// the plain loops? All times of a case are taken turn by turn in one process; figures to quote are
// the ratios.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <list>
#include <stdexcept>
#include <vector>

#include "ceilings.h"
#include "commands.h"
#include "core/handle.h"
#include "mluops/extensions.h"
#include "report.h"
#include "streams.h"
#include "testing/device_call.h"
#include "testing/isa.h"
#include "timing.h"

namespace mluop::tool {
namespace {

using testing::Case;
using testing::Placement;
using testing::PreparedCall;

// What a case is run on.
struct Setting {
  std::string isa;
  const Handle* handle;
  ThreadPool* threads;  // as many as the handle's
  double peak;          // operations a second
};

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

// The operator, the plain loops, then the ways to move the bytes.
std::vector<Contender> ContendersOf(PreparedCall& call, const Traffic& needed,
                                    const Setting& setting, double budget) {
  mluOpContext* const handle = setting.handle->get();
  std::vector<Contender> contenders;
  contenders.push_back({[&call, handle] {
                          if (call.Run(handle) == MLUOP_STATUS_SUCCESS) return;
                          throw std::runtime_error(mluOpGetLastErrorMessage());
                        },
                        budget});
  contenders.push_back({[&call] { call.RunPlain(); }, budget / 3});
  for (const Way way : kWays) {
    contenders.push_back(
        {[&needed, way, &threads = *setting.threads] { Move(needed, way, threads); }, budget / 6});
  }
  return contenders;
}

Row Measure(const Case& c, PreparedCall& call, const Setting& setting, const PerfOptions& options) {
  const Plan plan = PlanOf(call.arguments(), setting.handle->get());
  call.SetWorkspace(call.WantedWorkspace(setting.handle->get()));
  call.PoisonOutputs();
  const testing::Work work = c.test->work(call.arguments());
  const Traffic needed = TrafficOf(call, work.bytes), everything = TrafficOf(call, HUGE_VAL);
  std::vector<Contender> contenders = ContendersOf(call, needed, setting, options.seconds);
  MeasureTogether(contenders, options.cold ? [&] { Flush(everything); } : std::function<void()>());
  const Contender& ours = contenders[0];
  double floor = HUGE_VAL;
  for (size_t i = 2; i < contenders.size(); ++i) {
    floor = std::min(floor, contenders[i].Quantile(0));
  }
  const double least = ours.Quantile(0), plain = contenders[1].Quantile(0);
  return {{"case", c.line},
          {"op", c.test->name},
          {"device", setting.handle->get()->device->name()},
          {"isa", setting.isa},
          {"implementation", plan.implementation},
          {"threads", setting.handle->threads()},
          {"caches", options.cold ? "cold" : "hot"},
          {"min_s", least},
          {"median_s", ours.Quantile(0.5)},
          {"p90_s", ours.Quantile(0.9)},
          {"bytes", work.bytes},
          {"gb_per_s", work.bytes / least * 1e-9},
          {"floor_s", floor},
          {"ratio_to_floor", least / floor},
          {"io_efficiency", floor / least},
          {"operations", work.operations},
          {"compute_efficiency", work.operations / least / setting.peak},
          {"plain_loops_s", plain},
          {"speedup", plain / least}};
}

Row MeasureCeilings(ThreadPool& threads) {
  Row ceilings = Row::array();
  for (const size_t megabytes : {1, 32, 512}) {
    const Bandwidth measured = MeasureBandwidth(megabytes << 20, threads);
    ceilings.push_back({{"bytes", measured.bytes},
                        {"threads", threads.num_threads()},
                        {"copy_gb_s", measured.copy * 1e-9},
                        {"fill_gb_s", measured.fill * 1e-9}});
    std::printf("%d threads, %zu MB: copy %.0f GB/s, fill %.0f GB/s\n", threads.num_threads(),
                megabytes, measured.copy * 1e-9, measured.fill * 1e-9);
  }
  return ceilings;
}

void PrintHeader(bool cold) {
  std::printf("%10s %10s %6s %7s %8s %7s %7s %8s %4s %-8s %-12s case (%s)\n", "min us", "median us",
              "p90/md", "GB/s", "x floor", "IO", "compute", "x plain", "thr.", "isa", "implement.",
              cold ? "cold" : "hot");
}

void PrintRow(const Row& row) {
  const auto number = [&](const char* key) { return row[key].get<double>(); };
  const auto text = [&](const char* key) { return row[key].get<std::string>(); };
  char compute[16] = "-";
  if (number("operations") > 0) {
    std::snprintf(compute, sizeof(compute), "%.1f%%", number("compute_efficiency") * 100);
  }
  std::printf("%10.2f %10.2f %6.2f %7.1f %8.2f %6.0f%% %7s %8.1f %4d %-8s %-12s %s\n",
              number("min_s") * 1e6, number("median_s") * 1e6, number("p90_s") / number("median_s"),
              number("gb_per_s"), number("ratio_to_floor"), number("io_efficiency") * 100, compute,
              number("speedup"), row["threads"].get<int>(), text("isa").c_str(),
              text("implementation").c_str(), text("case").c_str());
  std::fflush(stdout);
}

}  // namespace

std::vector<std::string_view> Contestants(const Arguments& arguments, mluOpHandle_t handle,
                                          const PerfOptions& options) {
  if (options.implementation.empty()) return {""};
  auto names = testing::ApplicableImplementations(arguments, handle);
  if (options.implementation == "all") return names;
  std::erase_if(names, [&](std::string_view name) { return name != options.implementation; });
  return names;
}

int Perf(const Selection& selection, const PerfOptions& options) {
  Device* const device = UseDevice(selection);
  if (device != CpuDevice()) return PerfOnDevice(selection, options, device);
  const std::vector<Case> cases = SelectCases(selection);
  const auto isas = SelectIsas(selection, {testing::SupportedIsas().front()});
  InstallFaultHandler("perf");
  std::printf("%s\n", MachineName().c_str());
  std::list<Handle> handles;
  std::list<ThreadPool> pools;
  std::vector<Setting> settings;
  Row ceilings = Row::array();
  for (const int count : options.threads) {
    const Handle& handle = handles.emplace_back(count);
    testing::ResetIsa();
    ThreadPool& threads = pools.emplace_back(handle.threads());
    const Row measured = MeasureCeilings(threads);
    ceilings.insert(ceilings.end(), measured.begin(), measured.end());
    for (const std::string& isa : isas) {
      testing::ForceIsa(isa);
      settings.push_back({isa, &handle, &threads, MeasurePeak(threads)});
      std::printf("%d threads, %s: %.0f GFLOP/s\n", handle.threads(), isa.c_str(),
                  settings.back().peak * 1e-9);
    }
  }
  PrintHeader(options.cold);
  Row rows = Row::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    ShowProgress(i, cases.size(), cases[i].line);
    PreparedCall call(cases[i], Placement::kFront);
    for (const Setting& setting : settings) {
      testing::ForceIsa(setting.isa);
      const mluOpHandle_t handle = setting.handle->get();
      for (const auto name : Contestants(call.arguments(), handle, options)) {
        const testing::ForcedImplementation forced(handle, name);
        rows.push_back(Measure(cases[i], call, setting, options));
        EndProgress();
        PrintRow(rows.back());
      }
    }
  }
  return WriteFigures(options, rows, ceilings);
}

}  // namespace mluop::tool
