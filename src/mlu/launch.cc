// SPDX-License-Identifier: Apache-2.0
// Launches: the kernels of all sources, and the threads that simulate the cores.
#include "bang/launch.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "mlu/job.h"
#include "mlu/settings.h"

namespace bang {
namespace {

// By name and architecture.
auto& AllKernels() {
  static auto* const kernels = new std::map<std::pair<std::string, int>, Entry>;  // used until exit
  return *kernels;
}

constexpr int kLanes = kCoresPerCluster + 1;  // cores of a cluster; the last one is the memory core
constexpr size_t kLdramBytes = 4 << 20;       // per core; the size of a card's LDRAM is not known

// The memories of the clusters that one job uses.
struct JobMemories {
  explicit JobMemories(int clusters) {
    const Card& card = GetSettings().card;
    for (int cluster = 0; cluster < clusters; ++cluster) {
      OnChipMemory& sram = all.emplace_back(kSram, card.sram_bytes);
      for (int lane = 0; lane < kLanes; ++lane) {
        OnChipMemory& nram = all.emplace_back(kNram, card.nram_bytes);
        OnChipMemory& wram = all.emplace_back(kWram, card.wram_bytes);
        of_cores.push_back({&nram, &wram, &sram, &all.emplace_back(kLdram, kLdramBytes)});
      }
    }
  }

  std::deque<OnChipMemory> all;
  std::vector<Core::Memories> of_cores;
};

// Runs body(i) on one thread for each i < count. `part`, the launch or a job, fails if a thread does
// not start.
template <class Part>
void RunThreads(int count, const LaunchState& launch, Part& part,
                const std::function<void(size_t i)>& body) {
  std::vector<std::jthread> threads;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  } catch (const std::exception& error) {
    part.Fail(launch.MakeViolation(error.what()));
  }
}

// Runs one task on the calling thread.
void RunTask(Core& core) {
  LaunchState& launch = core.launch;
  current_core = &core;
  try {
    if (!launch.failed()) launch.entry(launch.arguments);
    core.Drain();
    core.job.Finish(core);
  } catch (const Violation& violation) {
    core.job.Fail(violation);
  } catch (const std::exception& error) {
    core.job.Fail({core.Locate({"the kernel", launch.site.where}) + "threw " + error.what()});
  }
  current_core = nullptr;
  launch.AddCounters(core);
}

// Returns the built-in variables of core `lane` of a cluster of a job. A Block task is a job of one
// core.
BuiltIns MakeBuiltIns(const LaunchState& launch, int job, int cluster, int lane) {
  const int tasks = launch.tasks_per_job(), jobs_per_row = launch.dim.x / tasks;
  const bool is_memory_core = lane == kLanes - 1;
  const int x = job % jobs_per_row * tasks + cluster * kCoresPerCluster;
  const int row = job / jobs_per_row, rows = launch.dim.y;
  const BuiltIns::Grid id = {x + (is_memory_core ? 0 : lane), row % rows, row / rows};
  const int core_id = is_memory_core ? kMemoryCore : lane;
  return {launch.dim, id, kCoresPerCluster, core_id, launch.clusters_per_job, cluster};
}

// Runs a job: one thread per core.
void RunJob(LaunchState& launch, int number, JobMemories& memories) {
  for (OnChipMemory& memory : memories.all) memory.Poison();
  Job job(launch);
  const bool is_block = launch.clusters_per_job == 0;
  // Jobs take the cores of the card in turn.
  const int tasks = launch.tasks_per_job();
  const int used_cores = GetSettings().card.cluster_limit * kCoresPerCluster / tasks * tasks;
  for (const Core::Memories& of_core : memories.of_cores) {
    const int i = static_cast<int>(job.cores.size());
    const int cluster = i / kLanes, lane = i % kLanes;
    const int slot = (number * tasks + cluster * kCoresPerCluster + lane) % used_cores;
    job.cores.emplace_back(launch, job, number, static_cast<size_t>(slot),
                           MakeBuiltIns(launch, number, cluster, lane), of_core);
    if (is_block) return RunTask(job.cores[0]);
  }
  RunThreads(static_cast<int>(job.cores.size()), launch, job,
             [&](size_t i) { RunTask(job.cores[i]); });
}

// Returns why a launch is wrong; empty if it is right.
std::string CheckLaunch(const cnrtDim3_t& dim, cnrtFunctionType_t type) {
  const Settings& settings = GetSettings();
  if (!settings.error.empty()) return settings.error;
  if (dim.x == 0 || dim.y == 0 || dim.z == 0) return "dim must be positive in x, y and z, got 0";
  if (uint64_t{dim.x} * dim.y * dim.z > (1u << 24)) return "dim must be at most 2^24 tasks";
  if (type == cnrtFuncTypeBlock) return "";
  const int clusters = static_cast<int>(type) / 4;
  if (type < 4 || type > 64 || (type & (type - 1)) != 0)
    return "type must be Block or Union1 to Union16, got " + std::to_string(type);
  if (clusters > settings.card.cluster_limit)
    return "type must be at most Union" + std::to_string(settings.card.cluster_limit) +
           ", the clusters of the card, got Union" + std::to_string(clusters);
  if (dim.x % static_cast<unsigned>(type) != 0)
    return "dim.x must be a multiple of " + std::to_string(type) + " for Union" +
           std::to_string(clusters) + ", got " + std::to_string(dim.x);
  return "";
}

// Runs the jobs in a random order, as many at once as the host has processors.
void RunJobs(LaunchState& launch) {
  const int tasks = launch.tasks_per_job();
  const int jobs = launch.dim.x * launch.dim.y * launch.dim.z / tasks;
  std::vector<int> order(static_cast<size_t>(jobs));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(),
               std::minstd_rand(static_cast<unsigned>(GetSettings().seed)));
  std::atomic<size_t> next{0};
  const auto run = [&](int) {
    try {
      JobMemories memories(std::max(launch.clusters_per_job, 1));
      for (size_t i = next++; i < order.size() && !launch.failed(); i = next++)
        RunJob(launch, order[i], memories);
    } catch (const std::exception& error) {  // no memory
      launch.Fail(launch.MakeViolation(error.what()));
    }
  };
  GetGdram().AddUser(1);
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  RunThreads(std::clamp(cpus / tasks, 1, jobs), launch, launch, run);
  GetGdram().AddUser(-1);
}

}  // namespace

bool RegisterKernel(const std::string& kernel, int architecture, Entry entry) {
  return AllKernels().try_emplace({kernel, architecture}, entry).second;
}

void RunKernel(const LaunchSite& site, const void* arguments) {
  const Card& card = GetSettings().card;
  const auto kernel = AllKernels().find({site.kernel, card.bang_arch});
  const bool exists = kernel != AllKernels().end();
  LaunchState launch(site, exists ? kernel->second : nullptr, arguments);
  std::string error = CheckLaunch(site.dim, site.type);
  if (error.empty() && !exists) error = std::string("not compiled for ") + card.architecture;
  if (error.empty())
    RunJobs(launch);
  else
    launch.Fail(launch.MakeViolation(error));
  FinishLaunch(launch);
}

}  // namespace bang
