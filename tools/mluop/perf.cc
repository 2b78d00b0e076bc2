// SPDX-License-Identifier: Apache-2.0
// mluop perf: measures operators and compares them with the floor (memory traffic), the arithmetic
// peak and the plain loops. All times of a case are taken in turn in one process; quote the ratios.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <list>
#include <stdexcept>
#include <vector>

#include "ceilings.h"
#include "commands.h"
#include "core/dtype.h"
#include "core/handle.h"
#include "efficiency.h"
#include "figures.h"
#include "html.h"
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

// The settings of a measurement.
struct Setting {
  std::string isa;
  const Handle* handle;
  ThreadPool* threads;  // as many as the handle's
  Rates rates;
};

// Returns the share of 64-byte lines that hold only zeros.
double ZeroLines(const char* data, size_t bytes) {
  constexpr char kZeros[64] = {};
  const size_t lines = bytes / sizeof(kZeros);
  size_t zeros = 0;
  for (size_t i = 0; i < lines; ++i)
    zeros += std::memcmp(data + i * sizeof(kZeros), kZeros, sizeof(kZeros)) == 0;
  return lines == 0 ? 0 : static_cast<double>(zeros) / static_cast<double>(lines);
}

// Returns the memory traffic of a call that has run. This is all output bytes, and the same
// fraction of each input, so that the total is `bytes`.
Traffic TrafficOf(const PreparedCall& call, double bytes) {
  const Arguments& arguments = call.arguments();
  Traffic all;
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    const TensorArgument& tensor = arguments.tensors[i];
    if (tensor.desc == nullptr) continue;
    auto* data = static_cast<char*>(tensor.data);
    if (arguments.spec->tensors[i].direction == kOut) {
      all.writes.push_back({data, tensor.ByteCount(), ZeroLines(data, tensor.ByteCount())});
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

void RunCall(PreparedCall& call, mluOpHandle_t handle) {
  if (call.Run(handle) == MLUOP_STATUS_SUCCESS) return;
  throw std::runtime_error(mluOpGetLastErrorMessage());
}

// Returns the operator, the floor in each access mode, then the plain loops if options.plain is
// set.
std::vector<Contender> ContendersOf(PreparedCall& call, const Traffic& needed,
                                    const Setting& setting, const PerfOptions& options) {
  mluOpContext* const handle = setting.handle->get();
  const double budget = options.seconds;
  std::vector<Contender> contenders;
  contenders.push_back({[&call, handle] { RunCall(call, handle); }, budget});
  for (const AccessMode mode : kAccessModes) {
    contenders.push_back(
        {[&needed, mode, &threads = *setting.threads] { Move(needed, mode, threads); },
         budget / 6});
  }
  if (options.plain) contenders.push_back({[&call] { call.RunPlain(); }, budget / 3});
  return contenders;
}

double BytesOfWrites(const Traffic& traffic) {
  double bytes = 0;
  for (const auto& write : traffic.writes) bytes += static_cast<double>(write.bytes);
  return bytes;
}

Row Measure(const Case& c, PreparedCall& call, const Setting& setting, const PerfOptions& options) {
  const Plan plan = PlanOf(call.arguments(), setting.handle->get());
  const size_t workspace = call.WantedWorkspace(setting.handle->get());
  call.SetWorkspace(workspace);
  call.PoisonOutputs();
  RunCall(call, setting.handle->get());
  const testing::Work work = c.test->work(call.arguments());
  const Traffic needed = TrafficOf(call, work.bytes), everything = TrafficOf(call, HUGE_VAL);
  std::vector<Contender> contenders = ContendersOf(call, needed, setting, options);
  MeasureTogether(contenders, options.cold ? [&] { Flush(everything); } : std::function<void()>());
  const Contender& ours = contenders[0];
  double floor = HUGE_VAL;
  for (size_t i = 1; i <= std::size(kAccessModes); ++i) {
    floor = std::min(floor, contenders[i].Quantile(0));
  }
  const double least = ours.Quantile(0);
  Row row = {{"case", c.line},
             {"op", c.test->name},
             {"device", setting.handle->get()->device->name()},
             {"isa", setting.isa},
             {"dtype", NameOf(c.dtype)},
             {"implementation", plan.implementation},
             {"threads", setting.handle->threads()},
             {"caches", options.cold ? "cold" : "hot"},
             {"min_s", least},
             {"median_s", ours.Quantile(0.5)},
             {"p90_s", ours.Quantile(0.9)},
             {"workspace_bytes", workspace},
             {"tensor_bytes", everything.Bytes()},
             {"written_bytes", BytesOfWrites(needed)},
             {"bytes", work.bytes},
             {"gb_per_s", work.bytes / least * 1e-9},
             {"floor_s", floor},
             {"ratio_to_floor", least / floor},
             {"operations", work.operations}};
  if (options.plain) {
    row["plain_loops_s"] = contenders.back().Quantile(0);
    row["speedup"] = contenders.back().Quantile(0) / least;
  }
  AddEfficiency(setting.rates, &row);
  return row;
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

std::vector<std::string_view> SelectedImplementations(const Arguments& arguments,
                                                      mluOpHandle_t handle,
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
  Figures figures = {CpuFacts(), options.cold ? "cold caches" : "hot caches"};
  std::printf("%s\n", CpuName().c_str());
  for (const int count : options.threads) {
    const Handle& handle = handles.emplace_back(count);
    testing::ResetIsa();
    ThreadPool& threads = pools.emplace_back(handle.threads());
    const Row measured = MeasureCeilings(threads);
    figures.ceilings.insert(figures.ceilings.end(), measured.begin(), measured.end());
    for (const std::string& isa : isas) {
      testing::ForceIsa(isa);
      const double peak = MeasurePeak(threads);
      figures.ceilings.push_back(
          {{"threads", handle.threads()}, {"isa", isa}, {"peak_gflop_s", peak * 1e-9}});
      const Row& largest = measured.back();
      settings.push_back({isa,
                          &handle,
                          &threads,
                          {Number(largest, "copy_gb_s") * 1e9, Number(largest, "bytes"),
                           Number(largest, "fill_gb_s") * 1e9, peak, CacheBytes(figures.machine)}});
      std::printf("%d threads, %s: %.0f GFLOP/s\n", handle.threads(), isa.c_str(), peak * 1e-9);
    }
  }
  if (settings.size() == 1) {
    figures.machine["threads"] = handles.front().threads();
    figures.machine["isa"] = isas[0];
  }
  Table table(/*on_cpu=*/true, settings.size() > 1);
  table.PrintHeader(figures.caches);
  for (size_t i = 0; i < cases.size(); ++i) {
    ShowProgress(i, cases.size(), cases[i]);
    PreparedCall call(cases[i], Placement::kFront);
    for (const Setting& setting : settings) {
      testing::ForceIsa(setting.isa);
      const mluOpHandle_t handle = setting.handle->get();
      for (const auto name : SelectedImplementations(call.arguments(), handle, options)) {
        const testing::ForcedImplementation forced(handle, name);
        figures.rows.push_back(Measure(cases[i], call, setting, options));
        EndProgress();
        table.Print(figures.rows.back());
      }
    }
  }
  return figures;
}

Figures MeasureOn(Device* device, const Selection& selection, const PerfOptions& options) {
  return device == CpuDevice() ? MeasureOnCpu(selection, options)
                               : MeasureOnDevice(selection, options, device);
}

int Perf(const Selection& selection, const PerfOptions& options, Row* document) {
  const int64_t started = std::time(nullptr);
  Device* const device = UseDevice(selection);
  InstallFaultHandler("perf", selection);
  if (device->counts_only()) {
    *document = {{"device", device->name()},
                 {"architecture", device->architecture()},
                 {"cases", CountCases(selection, *device)}};
    return 0;
  }
  Figures figures = MeasureOn(device, selection, options);
  CompareDistributions(&figures);
  PrintVerdict(figures);
  *document = DocumentOf(figures, options.command, started);
  return WritePage(options, *document);
}

}  // namespace mluop::tool
