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
#include <tuple>
#include <vector>

#include "mlu/job.h"
#include "mlu/settings.h"

namespace bang {
namespace {

// By source, symbol and architecture.
using Kernels = std::map<std::tuple<std::string, std::string, int>, Entry>;

Kernels& AllKernels() {
  static auto* const kernels = new Kernels;  // used until exit
  return *kernels;
}

constexpr size_t kLdramBytes = 4 << 20;  // per core; the size of a card's LDRAM is not known

// The memories of the clusters that one job uses.
class JobMemories {
 public:
  explicit JobMemories(int clusters) {
    const Card& card = GetSettings().card;
    for (int cluster = 0; cluster < clusters; ++cluster) {
      OnChipMemory& sram = all_.emplace_back(kSram, card.sram_bytes);
      for (int lane = 0; lane <= kCoresPerCluster; ++lane) {
        OnChipMemory& nram = all_.emplace_back(kNram, card.nram_bytes);
        OnChipMemory& wram = all_.emplace_back(kWram, card.wram_bytes);
        cores_.push_back({&nram, &wram, &sram, &all_.emplace_back(kLdram, kLdramBytes)});
      }
    }
  }
  void Poison() {
    for (OnChipMemory& memory : all_) memory.Poison();
  }
  const Core::Memories& of_core(int number) const { return cores_[static_cast<size_t>(number)]; }

 private:
  std::deque<OnChipMemory> all_;
  std::vector<Core::Memories> cores_;
};

// Runs body(i) on one thread for each i < count. Calls fail(reason) if a thread does not start.
void RunThreads(int count, const std::function<void(int i)>& body,
                const std::function<void(const std::string& reason)>& fail) {
  std::vector<std::thread> threads;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  } catch (const std::exception& error) {
    fail(error.what());
  }
  for (std::thread& thread : threads) thread.join();
}

// Runs one task on the calling thread.
void RunTask(LaunchState& launch, Job& job, Core& core) {
  current_core = &core;
  try {
    if (!launch.failed()) launch.entry(launch.arguments);
    core.Drain();
    job.Finish(core);
  } catch (const Violation& violation) {
    job.Fail(violation);
  } catch (const Aborted&) {
  } catch (const std::exception& error) {
    job.Fail({core.Locate({"the kernel", launch.site.where}) + "threw " + error.what()});
  }
  current_core = nullptr;
  launch.AddCounters(core);
}

// Returns the built-in variables of core `lane` of a cluster of a job; the memory core is the last
// lane. A Block task is a job of one core.
BuiltIns MakeBuiltIns(const LaunchState& launch, int job, int cluster, int lane) {
  const BuiltIns::Grid dim = {static_cast<int>(launch.dim.x), static_cast<int>(launch.dim.y),
                              static_cast<int>(launch.dim.z)};
  const int jobs_per_row = dim.x / launch.tasks_per_job();
  const bool is_memory_core = lane == kCoresPerCluster;
  const int x = job % jobs_per_row * launch.tasks_per_job() + cluster * kCoresPerCluster;
  const BuiltIns::Grid id = {x + (is_memory_core ? 0 : lane), job / jobs_per_row % dim.y,
                             job / jobs_per_row / dim.y};
  return {
      dim,    id, kCoresPerCluster, is_memory_core ? kMemoryCore : lane, launch.clusters_per_job,
      cluster};
}

// Runs a job: one thread per core.
void RunJob(LaunchState& launch, int number, JobMemories& memories) {
  memories.Poison();
  Job job(launch);
  const bool is_block = launch.clusters_per_job == 0;
  const int lanes = is_block ? 1 : kCoresPerCluster + 1;
  // Jobs take the cores of the card in turn.
  const int tasks = launch.tasks_per_job();
  const int used_cores = GetSettings().card.cluster_limit * kCoresPerCluster / tasks * tasks;
  std::deque<Core> cores;
  for (int i = 0; i < std::max(launch.clusters_per_job, 1) * lanes; ++i) {
    const BuiltIns built_ins = MakeBuiltIns(launch, number, i / lanes, i % lanes);
    const int slot = (number * tasks + i / lanes * kCoresPerCluster + i % lanes) % used_cores;
    cores.emplace_back(launch, job, number, slot, built_ins, memories.of_core(i));
    job.Add(cores.back());
  }
  const auto run = [&](int i) { RunTask(launch, job, cores[static_cast<size_t>(i)]); };
  if (is_block) return run(0);
  RunThreads(static_cast<int>(cores.size()), run,
             [&](const std::string& reason) { job.Fail(launch.MakeViolation(reason)); });
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
  const int jobs = static_cast<int>(launch.dim.x * launch.dim.y * launch.dim.z) / tasks;
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
  GetGdram().Open();
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  RunThreads(std::clamp(cpus / tasks, 1, jobs), run,
             [&](const std::string& reason) { launch.Fail(launch.MakeViolation(reason)); });
  GetGdram().Close();
}

}  // namespace

bool RegisterKernel(const KernelKey& key, int architecture, Entry entry) {
  return AllKernels().try_emplace({key.source, key.symbol, architecture}, entry).second;
}

void RunKernel(const LaunchSite& site, const cnrtDim3_t& dim, cnrtFunctionType_t type,
               cnrtQueue_t queue, void* const* arguments) {
  LaunchState launch(site, dim, type);
  launch.arguments = arguments;
  const Card& card = GetSettings().card;
  const auto kernel = AllKernels().find({site.key.source, site.key.symbol, card.bang_arch});
  std::string error = CheckLaunch(dim, type);
  if (error.empty() && kernel == AllKernels().end())
    error = std::string("not compiled for ") + card.architecture;
  if (error.empty()) {
    launch.entry = kernel->second;
    RunJobs(launch);
  } else {
    launch.Fail(launch.MakeViolation(error));
  }
  FinishLaunch(queue, launch.failed() ? &launch.violation() : nullptr, launch.counters());
}

}  // namespace bang
