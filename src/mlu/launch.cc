// SPDX-License-Identifier: Apache-2.0
// Launches: the kernels of all sources, and the threads that simulate the cores.
#include "bang/launch.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "mlu/device.h"
#include "mlu/gdram.h"
#include "mlu/job.h"
#include "mlu/settings.h"

namespace bang {
namespace {

struct Registered {
  KernelKey key;
  int architecture;
  Entry entry;
};

std::vector<Registered>& Kernels() {
  static auto* const kernels = new std::vector<Registered>;  // used until exit
  return *kernels;
}

Entry FindKernel(const KernelKey& key, int architecture) {
  for (const Registered& kernel : Kernels()) {
    if (kernel.architecture == architecture && std::strcmp(kernel.key.symbol, key.symbol) == 0 &&
        std::strcmp(kernel.key.source, key.source) == 0)
      return kernel.entry;
  }
  return nullptr;
}

// The memories of the clusters that one job uses.
struct JobMemories {
  explicit JobMemories(int clusters) {
    for (int i = 0; i < clusters * (kCoresPerCluster + 1); ++i)
      cores.push_back(std::make_unique<CoreMemories>());
    for (int i = 0; i < clusters; ++i)
      srams.push_back(
          std::make_unique<OnChipMemory>(Space::kSram, GetSettings().architecture->sram_bytes));
  }
  void Poison() {
    for (auto& core : cores) core->nram.Poison(), core->wram.Poison(), core->ldram.Poison();
    for (auto& sram : srams) sram->Poison();
  }
  std::vector<std::unique_ptr<CoreMemories>> cores;
  std::vector<std::unique_ptr<OnChipMemory>> srams;
};

void FailLaunch(LaunchState& launch, const std::string& reason) {
  const LaunchSite& site = launch.site;
  launch.Fail({std::string(site.where.file) + ":" + std::to_string(site.where.line) +
                   ": launch of " + site.name + ": " + reason,
               false});
}

// Runs one task on the calling thread.
void RunTask(LaunchState& launch, Job& job, Core& core) {
  SetCurrentCore(&core);
  try {
    if (!launch.failed()) launch.entry(launch.arguments);
    core.Drain();
    job.Finish(core);
  } catch (const Violation& violation) {
    launch.Fail(violation);
    job.WakeAll();
  } catch (const Aborted&) {
  } catch (const std::exception& error) {
    launch.Fail({core.Locate("the kernel", launch.site.where) + "threw " + error.what(), false});
    job.WakeAll();
  }
  SetCurrentCore(nullptr);
  core.counters().nram_peak = core.memory(Space::kNram)->peak();
  core.counters().sram_peak = core.memory(Space::kSram)->peak();
  launch.AddCounters(core, core.counters());
}

// Runs jobs of a launch, in a random order, until none is left.
class Runner {
 public:
  Runner(LaunchState& launch, const std::vector<int>& order, std::atomic<size_t>& next)
      : launch_(launch), order_(order), next_(next) {}

  void Run() {
    try {
      RunAll();
    } catch (const std::exception& error) {  // no memory
      FailLaunch(launch_, error.what());
    }
  }

 private:
  void RunAll() {
    const int clusters = launch_.clusters_per_job();
    JobMemories memories(std::max(clusters, 1));
    for (size_t i = next_++; i < order_.size() && !launch_.failed(); i = next_++) {
      memories.Poison();
      if (clusters == 0) {
        RunBlock(order_[i], memories);
      } else {
        RunUnion(order_[i], clusters, memories);
      }
    }
  }

  void RunBlock(int index, JobMemories& memories) {
    Job job(launch_, 0);
    Place place = PlaceOf(index, 1);
    place.slot = index % (GetSettings().clusters * kCoresPerCluster);
    Core core(launch_, job, index, place, *memories.cores[0], *memories.srams[0]);
    RunTask(launch_, job, core);
  }

  void RunUnion(int index, int clusters, JobMemories& memories) {
    Job job(launch_, clusters);
    for (const auto& sram : memories.srams) launch_.writers().Forget(sram.get());
    const int tasks = clusters * kCoresPerCluster;
    const Place first = PlaceOf(index, tasks);
    const int first_cluster = index % (GetSettings().clusters / clusters) * clusters;
    std::vector<std::unique_ptr<Core>> cores;
    for (int i = 0; i < clusters * (kCoresPerCluster + 1); ++i) {
      const int cluster = i / (kCoresPerCluster + 1);
      const int lane = i % (kCoresPerCluster + 1);
      Place place = first;
      place.cluster = cluster;
      place.core = lane == kCoresPerCluster ? kMemoryCore : lane;
      place.x = first.x + cluster * kCoresPerCluster + (lane == kCoresPerCluster ? 0 : lane);
      place.slot = (first_cluster + cluster) * kCoresPerCluster + lane % kCoresPerCluster;
      cores.push_back(std::make_unique<Core>(launch_, job, index, place,
                                             *memories.cores[static_cast<size_t>(i)],
                                             *memories.srams[static_cast<size_t>(cluster)]));
    }
    std::vector<std::thread> threads;
    try {
      for (auto& core : cores)
        threads.emplace_back([this, &job, &core] { RunTask(launch_, job, *core); });
    } catch (const std::exception& error) {  // no thread
      FailLaunch(launch_, error.what());
      job.WakeAll();
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Returns the place of the first task of a job of `tasks` neighbours in X.
  Place PlaceOf(int job, int tasks) const {
    const int per_row = static_cast<int>(launch_.dim.x) / tasks;
    Place place;
    place.x = job % per_row * tasks;
    place.y = job / per_row % static_cast<int>(launch_.dim.y);
    place.z = job / per_row / static_cast<int>(launch_.dim.y);
    return place;
  }

  LaunchState& launch_;
  const std::vector<int>& order_;
  std::atomic<size_t>& next_;
};

// Returns why a launch is wrong; empty if it is right.
std::string CheckLaunch(const cnrtDim3_t& dim, cnrtFunctionType_t type) {
  const Settings& settings = GetSettings();
  if (settings.fault[0] != '\0') return settings.fault;
  if (dim.x == 0 || dim.y == 0 || dim.z == 0) return "dim must be positive in x, y and z, got 0";
  if (uint64_t{dim.x} * dim.y * dim.z > (1u << 24)) return "dim must be at most 2^24 tasks";
  if (type == cnrtFuncTypeBlock) return "";
  const int clusters = static_cast<int>(type) / 4;
  const bool known = type >= 4 && type <= 64 && (type & (type - 1)) == 0;
  if (!known) return "type must be Block or Union1 to Union16, got " + std::to_string(type);
  if (clusters > settings.clusters)
    return "type must be at most Union" + std::to_string(settings.clusters) +
           ", the clusters of the card, got Union" + std::to_string(clusters);
  if (dim.x % static_cast<unsigned>(type) != 0)
    return "dim.x must be a multiple of " + std::to_string(type) + " for Union" +
           std::to_string(clusters) + ", got " + std::to_string(dim.x);
  return "";
}

void RunJobs(LaunchState& launch) {
  const int tasks_per_job = std::max(launch.clusters_per_job() * kCoresPerCluster, 1);
  const int jobs = static_cast<int>(launch.dim.x * launch.dim.y * launch.dim.z) / tasks_per_job;
  std::vector<int> order(static_cast<size_t>(jobs));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(),
               std::minstd_rand(static_cast<unsigned>(GetSettings().seed)));
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  const int runners = std::clamp(cpus / tasks_per_job, 1, jobs);
  std::atomic<size_t> next{0};
  GetGdram().Open();
  std::vector<std::thread> threads;
  try {
    for (int i = 0; i < runners; ++i)
      threads.emplace_back([&] { Runner(launch, order, next).Run(); });
  } catch (const std::exception& error) {  // no thread
    FailLaunch(launch, error.what());
  }
  for (std::thread& thread : threads) thread.join();
  GetGdram().Close();
}

}  // namespace

bool RegisterKernel(const KernelKey& key, int architecture, Entry entry) {
  Kernels().push_back({key, architecture, entry});
  return true;
}

void RunKernel(const LaunchSite& site, const cnrtDim3_t& dim, cnrtFunctionType_t type,
               cnrtQueue_t queue, void* const* arguments) {
  LaunchState launch(site, dim, type);
  launch.arguments = arguments;
  launch.entry = FindKernel(site.key, GetSettings().architecture->number);
  std::string fault = CheckLaunch(dim, type);
  if (fault.empty() && launch.entry == nullptr)
    fault = std::string("not compiled for ") + GetSettings().architecture->name;
  if (fault.empty()) {
    RunJobs(launch);
  } else {
    FailLaunch(launch, fault);
  }
  mluop::FinishLaunch(queue, launch.failed() ? &launch.violation() : nullptr, launch.counters());
}

}  // namespace bang
