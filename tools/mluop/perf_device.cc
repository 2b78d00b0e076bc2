// SPDX-License-Identifier: Apache-2.0
// mluop perf on a device that is not the CPU. Calls are captured into a CUDA graph and replayed, so
// times exclude the host. The tensors rotate over more memory than the caches hold. The floor is a
// copy that moves as many bytes as the operator must, timed in the same way.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <set>
#include <stdexcept>
#include <vector>

#include "commands.h"
#include "core/dtype.h"
#include "core/handle.h"
#include "cuda_timer.h"
#include "efficiency.h"
#include "figures.h"
#include "html.h"
#include "mluops/extensions.h"
#include "testing/device_call.h"

namespace mluop::tool {
namespace {

using testing::Case;
using testing::Mirror;
using testing::Placement;
using testing::PreparedCall;

constexpr size_t kRotation = size_t{256} << 20;  // bytes: several times the largest L2
constexpr size_t kMaxSets = 256;
constexpr int kMinCalls = 20;  // in one graph

// The same call on several sets of tensors.
struct Calls {
  std::vector<std::unique_ptr<Mirror>> sets;
  mluOpHandle_t handle;
  int count;         // in one recording
  size_t bytes;      // of a set
  size_t workspace;  // bytes

  mluOpStatus_t Enqueue(cnrtQueue_t queue) const {
    mluOpStatus_t status = mluOpSetQueue(handle, queue);
    for (int i = 0; i < count && status == MLUOP_STATUS_SUCCESS; ++i) {
      status = sets[static_cast<size_t>(i) % sets.size()]->Run(handle);
    }
    mluOpSetQueue(handle, nullptr);
    return status;
  }
};

// Times device-to-device copies between blocks of a large buffer.
class Copies {
 public:
  Copies(Device* device, CudaTimer& timer) : device_(device), timer_(timer) {}
  ~Copies() { cnrtFree(memory_); }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  // Returns the seconds of a copy that moves this number of bytes: half of them read, half written.
  double Time(double bytes) {
    // cudaMemcpyAsync is slower per byte above this size, so the time is extrapolated.
    constexpr double kLargest = 256 << 20;
    if (bytes > kLargest) return Time(kLargest) * bytes / kLargest;
    // cudaMemcpyAsync is a third slower on sizes that are not a multiple of 8 KiB.
    const size_t unit = bytes > (1 << 20) ? 8192 : 256;
    each_ = (static_cast<size_t>(bytes / 2) + unit - 1) / unit * unit;
    Reserve(std::max(4 * each_, kRotation));
    count_ = static_cast<int>(std::clamp<size_t>(size_ / (2 * each_), kMinCalls, kMaxSets));
    return timer_.SecondsOfReplay([this](cnrtQueue_t queue) { return Enqueue(queue); }, 10) /
           count_;
  }

 private:
  void Reserve(size_t bytes) {
    if (bytes <= size_) return;
    cnrtFree(memory_);
    if (cnrtMalloc(&memory_, bytes) != cnrtSuccess) throw std::bad_alloc();
    size_ = bytes;
    // Fills with non-zero bytes: the memory system may compress zeros.
    cnrtMemset(memory_, 0x5a, bytes);
  }

  mluOpStatus_t Enqueue(cnrtQueue_t queue) const {
    const size_t slots = size_ / (2 * each_);
    for (int i = 0; i < count_; ++i) {
      char* const from = static_cast<char*>(memory_) + static_cast<size_t>(i) % slots * 2 * each_;
      if (device_->Copy(from + each_, from, each_, queue) != cnrtSuccess)
        return MLUOP_STATUS_EXECUTION_FAILED;
    }
    return MLUOP_STATUS_SUCCESS;
  }

  Device* device_;
  CudaTimer& timer_;
  void* memory_ = nullptr;
  size_t size_ = 0, each_ = 0;
  int count_ = 0;
};

Calls MakeCalls(const PreparedCall& call, mluOpHandle_t handle) {
  Calls calls = {{}, handle, 0, 0, call.WantedWorkspace(handle)};
  size_t& bytes = calls.bytes;
  for (int i = 0; i < call.arguments().spec->tensor_count; ++i)
    bytes += call.arguments().tensors[i].ByteCount();
  const size_t sets = std::clamp<size_t>(kRotation / std::max<size_t>(bytes, 1), 2, kMaxSets);
  for (size_t i = 0; i < sets; ++i) {
    calls.sets.push_back(std::make_unique<Mirror>(call, Placement::kFront));
    calls.sets.back()->SetWorkspace(calls.workspace);
  }
  calls.count = std::max(static_cast<int>(sets), bytes > (size_t{64} << 20) ? 2 : kMinCalls);
  return calls;
}

// Returns the host time per call in seconds, the minimum over several batches.
double HostSeconds(const Calls& calls) {
  using Clock = std::chrono::steady_clock;
  constexpr int kBatch = 100;
  double least = HUGE_VAL;
  for (int batch = 0; batch < 10; ++batch) {
    const auto start = Clock::now();
    for (int i = 0; i < kBatch; ++i)
      calls.sets[static_cast<size_t>(i) % calls.sets.size()]->Run(calls.handle);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    least = std::min(least, seconds / kBatch);
    cnrtSyncDevice();
  }
  return least;
}

struct Mode {
  mluOpAtomicsMode_t value;
  const char* name;
};
constexpr Mode kModes[] = {{MLUOP_ATOMICS_NOT_ALLOWED, "default"},
                           {MLUOP_ATOMICS_ALLOWED, "allowed"}};

double WrittenBytes(const Arguments& arguments) {
  double bytes = 0;
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    if (arguments.spec->tensors[i].direction != kOut) continue;
    bytes += static_cast<double>(arguments.tensors[i].ByteCount());
  }
  return bytes;
}

// floor: seconds of a copy of as many bytes.
Row Measure(const Case& c, Calls& calls, const Mode& mode, const testing::Work& work, double floor,
            CudaTimer& timer) {
  mluOpSetQueue(calls.handle, nullptr);
  for (const auto& set : calls.sets) {  // grows scratch before the capture
    if (set->Run(calls.handle) != MLUOP_STATUS_SUCCESS)
      throw std::runtime_error(c.line + ": " + mluOpGetLastErrorMessage());
  }
  cnrtSyncDevice();
  const double host = HostSeconds(calls);
  const double least =
      timer.SecondsOfReplay([&](cnrtQueue_t queue) { return calls.Enqueue(queue); }, 10) /
      calls.count;
  const Device* const device = calls.handle->device;
  const Arguments& arguments = calls.sets[0]->arguments();
  return {{"case", c.line},
          {"op", c.test->name},
          {"device", device->name()},
          {"architecture", device->architecture()},
          {"mode", mode.name},
          {"dtype", NameOf(c.dtype)},
          {"implementation", PlanOf(arguments, calls.handle).implementation},
          {"caches", calls.bytes * calls.sets.size() >= kRotation / 2 ? "rotated" : "warm"},
          {"sets", calls.sets.size()},
          {"min_s", least},
          {"host_s", host},
          {"workspace_bytes", calls.workspace},
          {"tensor_bytes", calls.bytes},
          {"written_bytes", WrittenBytes(arguments)},
          {"bytes", work.bytes},
          {"gb_per_s", work.bytes / least * 1e-9},
          {"floor_s", floor},
          {"ratio_to_floor", least / floor},
          {"operations", work.operations}};
}

Row FactsOf(const CudaTimer& timer, const Device& device) {
  const CudaFacts facts = timer.Facts();
  return {{"name", facts.name},
          {"device", device.name()},
          {"architecture", device.architecture()},
          {"sm_count", facts.sm_count},
          {"clock_mhz", facts.clock_mhz},
          {"memory_clock_mhz", facts.memory_clock_mhz},
          {"memory_bus_bits", facts.memory_bus_bits},
          {"caches", {{{"level", 2}, {"bytes", facts.l2_bytes}}}},
          {"memory_bytes", facts.memory_bytes},
          {"driver",
           Format("CUDA %d.%d", facts.driver_version / 1000, facts.driver_version % 1000 / 10)},
          {"host", CpuName()}};
}

Row MeasureCeilings(Copies& copies) {
  Row ceilings = Row::array();
  for (const double megabytes : {0.2, 1.0, 4.0, 16.0, 64.0, 256.0}) {
    const double bytes = megabytes * (1 << 20), seconds = copies.Time(bytes);
    ceilings.push_back({{"bytes", bytes}, {"copy_gb_s", bytes / seconds * 1e-9}});
    std::printf("%.1f MB: copy %.2f us, %.0f GB/s\n", megabytes, seconds * 1e6,
                bytes / seconds * 1e-9);
  }
  return ceilings;
}

}  // namespace

Figures MeasureOnDevice(const Selection& selection, const PerfOptions& options, Device* device) {
  const std::vector<Case> cases = GroupByOperator(SelectCases(selection));
  CudaTimer timer(device->name());
  Figures figures = {FactsOf(timer, *device), "tensors rotate over 256 MB"};
  std::printf("%s (%s, %s)\n", Text(figures.machine, "name").c_str(), device->name(),
              device->architecture());
  Copies copies(device, timer);
  figures.ceilings = MeasureCeilings(copies);
  const Row largest = figures.ceilings.back();
  const Rates rates = {Number(largest, "copy_gb_s") * 1e9, Number(largest, "bytes"), 0,
                       timer.peak(), CacheBytes(figures.machine)};
  figures.ceilings.push_back({{"peak_gflop_s", rates.peak * 1e-9}});
  std::printf("%.0f GFLOP/s\n", rates.peak * 1e-9);
  Table table(/*on_cpu=*/false, /*settings=*/false);
  table.PrintHeader(figures.caches);
  for (size_t i = 0; i < cases.size(); ++i) {
    ShowProgress(i, cases.size(), cases[i]);
    const PreparedCall call(cases[i], Placement::kFront);
    const Handle handle(0);
    Calls calls = MakeCalls(call, handle.get());
    const testing::Work work = cases[i].test->work(call.arguments());
    std::set<std::string_view> measured;  // an implementation runs the same code in both modes
    for (const Mode& mode : kModes) {
      mluOpSetAtomicsMode(handle.get(), mode.value);
      for (const auto name :
           SelectedImplementations(calls.sets[0]->arguments(), handle.get(), options)) {
        const testing::ForcedImplementation forced(handle.get(), name);
        const Plan plan = PlanOf(calls.sets[0]->arguments(), handle.get());
        if (!measured.insert(plan.implementation).second) continue;
        Row row = Measure(cases[i], calls, mode, work, copies.Time(work.bytes), timer);
        AddEfficiency(rates, &row);
        figures.rows.push_back(row);
        EndProgress();
        table.Print(figures.rows.back());
      }
    }
  }
  // Last: after a module of PTX is loaded, every kernel of a replay takes 0.33 us more (H200).
  const double launch_seconds = timer.SecondsOfLaunch();
  std::printf("host: %.2f us to launch an empty kernel\n", launch_seconds * 1e6);
  for (Row& row : figures.rows) row["host_launch_s"] = launch_seconds;
  return figures;
}

}  // namespace mluop::tool
