// SPDX-License-Identifier: Apache-2.0
// mluop perf: times the operators against the bytes that must move, the arithmetic peak and the plain
// loops. All times of a case are taken in turn in one process; quote the ratios.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <list>
#include <stdexcept>
#include <vector>

#include "ceilings.h"
#include "commands.h"
#include "core/handle.h"
#include "figures.h"
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

}  // namespace

std::vector<std::string_view> Contestants(const Arguments& arguments, mluOpHandle_t handle,
                                          const PerfOptions& options) {
  if (options.implementation.empty()) return {""};
  auto names = testing::ApplicableImplementations(arguments, handle);
  if (options.implementation == "all") return names;
  std::erase_if(names, [&](std::string_view name) { return name != options.implementation; });
  return names;
}

Figures MeasureOnCpu(const Selection& selection, const PerfOptions& options) {
  const std::vector<Case> cases = GroupByOperator(SelectCases(selection));
  const auto isas = SelectIsas(selection, {testing::SupportedIsas().front()});
  std::list<Handle> handles;
  std::list<ThreadPool> pools;
  std::vector<Setting> settings;
  Figures figures = {MachineName(), options.cold ? "cold caches" : "hot caches"};
  std::printf("%s\n", figures.machine.c_str());
  for (const int count : options.threads) {
    const Handle& handle = handles.emplace_back(count);
    testing::ResetIsa();
    ThreadPool& threads = pools.emplace_back(handle.threads());
    const Row measured = MeasureCeilings(threads);
    figures.ceilings.insert(figures.ceilings.end(), measured.begin(), measured.end());
    for (const std::string& isa : isas) {
      testing::ForceIsa(isa);
      settings.push_back({isa, &handle, &threads, MeasurePeak(threads)});
      std::printf("%d threads, %s: %.0f GFLOP/s\n", handle.threads(), isa.c_str(),
                  settings.back().peak * 1e-9);
    }
  }
  if (settings.size() == 1) {
    figures.machine += ", " + std::to_string(handles.front().threads()) + " threads, " + isas[0];
  }
  Table table(/*on_cpu=*/true, settings.size() > 1);
  table.PrintHeader(figures.caches);
  for (size_t i = 0; i < cases.size(); ++i) {
    ShowProgress(i, cases.size(), cases[i].line);
    PreparedCall call(cases[i], Placement::kFront);
    for (const Setting& setting : settings) {
      testing::ForceIsa(setting.isa);
      const mluOpHandle_t handle = setting.handle->get();
      for (const auto name : Contestants(call.arguments(), handle, options)) {
        const testing::ForcedImplementation forced(handle, name);
        figures.rows.push_back(Measure(cases[i], call, setting, options));
        EndProgress();
        table.Print(figures.rows.back());
      }
    }
  }
  return figures;
}

int Perf(const Selection& selection, const PerfOptions& options) {
  Device* const device = UseDevice(selection);
  InstallFaultHandler("perf");
  if (device->counts_only()) return PrintCounters(selection, device);
  const Figures figures = device == CpuDevice() ? MeasureOnCpu(selection, options)
                                                : MeasureOnDevice(selection, options, device);
  PrintVerdict(figures);
  return WriteFigures(options, figures);
}

}  // namespace mluop::tool
