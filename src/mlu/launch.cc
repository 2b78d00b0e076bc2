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
      srams.push_back(std::make_unique<OnChipMemory>(Space::kSram, GetSettings().card->sram_bytes));
  }
  void Poison() {
    for (auto& core : cores) core->nram.Poison(), core->wram.Poison(), core->ldram.Poison();
    for (auto& sram : srams) sram->Poison();
  }
  std::vector<std::unique_ptr<CoreMemories>> cores;
  Srams srams;
};

void FailLaunch(LaunchState& launch, const std::string& reason) {
  const LaunchSite& site = launch.site;
  launch.Fail({std::string(site.where.file) + ":" + std::to_string(site.where.line) +
               ": launch of " + site.name + ": " + reason});
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
    launch.Fail({core.Locate({"the kernel", launch.site.where}) + "threw " + error.what()});
    job.WakeAll();
  }
  SetCurrentCore(nullptr);
  launch.AddCounters(core);
}

// Returns the built-in variables of core `lane` of a cluster of a job; the memory core is the last
// lane. A Block task is a job of one core.
BuiltIns MakeBuiltIns(const LaunchState& launch, int job, int cluster, int lane) {
  const int dim_x = static_cast<int>(launch.dim.x), dim_y = static_cast<int>(launch.dim.y),
            dim_z = static_cast<int>(launch.dim.z), clusters = launch.clusters_per_job();
  const int tasks = std::max(clusters * kCoresPerCluster, 1);
  const int jobs_per_row = dim_x / tasks;
  const bool is_memory_core = lane == kCoresPerCluster;
  const int x =
      job % jobs_per_row * tasks + cluster * kCoresPerCluster + (is_memory_core ? 0 : lane);
  const int y = job / jobs_per_row % dim_y, z = job / jobs_per_row / dim_y;
  return {dim_x * dim_y * dim_z,
          dim_x,
          dim_y,
          dim_z,
          (z * dim_y + y) * dim_x + x,
          x,
          y,
          z,
          kCoresPerCluster,
          is_memory_core ? kMemoryCore : lane,
          clusters,
          cluster};
}

// Runs a job: one thread per core.
void RunJob(LaunchState& launch, int number, JobMemories& memories) {
  memories.Poison();
  Job job(launch);
  for (const auto& sram : memories.srams) launch.writers().Forget(sram.get());
  const int clusters = launch.clusters_per_job();
  const int lanes = clusters == 0 ? 1 : kCoresPerCluster + 1;
  const int tasks = std::max(clusters * kCoresPerCluster, 1);
  // Jobs take the cores of the card in turn.
  const int used_cores = GetSettings().clusters * kCoresPerCluster / tasks * tasks;
  std::vector<std::unique_ptr<Core>> cores;
  for (int i = 0; i < std::max(clusters, 1) * lanes; ++i) {
    const BuiltIns built_ins = MakeBuiltIns(launch, number, i / lanes, i % lanes);
    const int slot = (number * tasks + i / lanes * kCoresPerCluster + i % lanes) % used_cores;
    cores.push_back(std::make_unique<Core>(launch, job, number, slot, built_ins,
                                           *memories.cores[static_cast<size_t>(i)],
                                           memories.srams));
    if (clusters > 0) job.Add(*cores.back());
  }
  if (clusters == 0) return RunTask(launch, job, *cores[0]);
  std::vector<std::thread> threads;
  try {
    for (auto& core : cores) threads.emplace_back([&] { RunTask(launch, job, *core); });
  } catch (const std::exception& error) {  // no thread
    FailLaunch(launch, error.what());
    job.WakeAll();
  }
  for (std::thread& thread : threads) thread.join();
}

// Returns why a launch is wrong; empty if it is right.
std::string CheckLaunch(const cnrtDim3_t& dim, cnrtFunctionType_t type) {
  const Settings& settings = GetSettings();
  if (!settings.error.empty()) return settings.error;
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

// Runs the jobs in a random order, as many at once as the host has processors.
void RunJobs(LaunchState& launch) {
  const int tasks_per_job = std::max(launch.clusters_per_job() * kCoresPerCluster, 1);
  const int jobs = static_cast<int>(launch.dim.x * launch.dim.y * launch.dim.z) / tasks_per_job;
  std::vector<int> order(static_cast<size_t>(jobs));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(),
               std::minstd_rand(static_cast<unsigned>(GetSettings().seed)));
  std::atomic<size_t> next{0};
  const auto run = [&] {
    try {
      JobMemories memories(std::max(launch.clusters_per_job(), 1));
      for (size_t i = next++; i < order.size() && !launch.failed(); i = next++)
        RunJob(launch, order[i], memories);
    } catch (const std::exception& error) {  // no memory
      FailLaunch(launch, error.what());
    }
  };
  GetGdram().Open();
  std::vector<std::thread> threads;
  try {
    const int cpus = static_cast<int>(std::thread::hardware_concurrency());
    for (int i = 0; i < std::clamp(cpus / tasks_per_job, 1, jobs); ++i) threads.emplace_back(run);
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
  launch.entry = FindKernel(site.key, GetSettings().card->number);
  std::string error = CheckLaunch(dim, type);
  if (error.empty() && launch.entry == nullptr)
    error = std::string("not compiled for ") + GetSettings().card->name;
  if (error.empty()) {
    RunJobs(launch);
  } else {
    FailLaunch(launch, error);
  }
  FinishLaunch(queue, launch.failed() ? &launch.violation() : nullptr, launch.counters());
}

}  // namespace bang
