// SPDX-License-Identifier: Apache-2.0
#include "core/environment.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/text.h"

namespace mluop {
namespace {

constexpr int kMaxCpus = 1 << 20;

void PrintIgnored(const char* name, const char* rule, std::string_view value) {
  fprintf(stderr, "# %s must be %s, got %.*s; it is ignored\n", name, rule,
          MLUOP_SV(value.substr(0, 80)));
}

// Returns the leading positive number of a variable ("4", or "4,2" as in OpenMP); 0 if none.
int PositiveVariable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || text[0] == '\0') return 0;
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 10);
  const bool whole = end != text && (*end == '\0' || *end == ',');
  if (!whole || errno != 0 || value < 1) {
    ReportIgnored(name, "a positive number", text);
    return 0;
  }
  return static_cast<int>(std::min<long>(value, kMaxThreads));
}

// Returns the number of CPUs in this thread's affinity mask, read into a mask of `size` CPUs.
// Returns 0 on failure and sets errno.
int CountCpus(int size) {
  cpu_set_t* const set = CPU_ALLOC(size);
  if (set == nullptr) return 0;
  const size_t bytes = CPU_ALLOC_SIZE(size);
  const int cpus = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
  CPU_FREE(set);
  return cpus;
}

// Tries larger masks until one fits: the kernel rejects a mask shorter than its own.
int AffinityThreads() {
  for (int size = CPU_SETSIZE; size <= kMaxCpus; size *= 2) {
    if (const int cpus = CountCpus(size)) return cpus;
    if (errno != EINVAL) break;
  }
  return 1;
}

// Reads "quota period" from one file or, with `period_path`, from two. Returns the number of threads that
// the quota allows; kMaxThreads if there is none.
int QuotaThreads(const char* quota_path, const char* period_path = nullptr) {
  long long quota = 0;
  long long period = 0;
  FILE* file = std::fopen(quota_path, "re");
  if (file == nullptr) return kMaxThreads;
  const int wanted = period_path == nullptr ? 2 : 1;
  bool found =
      std::fscanf(file, "%lld %lld", &quota, &period) >= wanted;  // v2 without limit: "max"
  std::fclose(file);
  if (found && period_path != nullptr) {
    file = std::fopen(period_path, "re");
    if (file == nullptr) return kMaxThreads;
    found = std::fscanf(file, "%lld", &period) == 1;
    std::fclose(file);
  }
  if (!found || quota <= 0 || period <= 0) return kMaxThreads;
  const double cpus = static_cast<double>(quota) / static_cast<double>(period);
  return std::max(1, static_cast<int>(std::lround(cpus)));
}

// Returns the smallest cpu.max from this process's cgroup (v2) up to the root. In a container the
// root file holds the limit.
int QuotaThreadsV2() {
  char path[PATH_MAX] = "";  // of the cgroup; "" is the root
  if (FILE* file = std::fopen("/proc/self/cgroup", "re")) {
    char line[PATH_MAX];
    while (std::fgets(line, sizeof(line), file) != nullptr) {
      if (std::strncmp(line, "0::", 3) != 0) continue;
      line[std::strcspn(line, "\n")] = '\0';
      std::snprintf(path, sizeof(path), "%s", line + 3);
    }
    std::fclose(file);
  }
  for (int threads = kMaxThreads;;) {
    char name[PATH_MAX + 32];
    std::snprintf(name, sizeof(name), "/sys/fs/cgroup%s/cpu.max", path);
    threads = std::min(threads, QuotaThreads(name));
    char* const slash = std::strrchr(path, '/');
    if (slash == nullptr) return threads;
    *slash = '\0';
  }
}

// Returns 0 if no variable is set.
int ThreadsFromEnvironment() {
  const int threads = PositiveVariable("MLUOP_NUM_THREADS");
  return threads > 0 ? threads : PositiveVariable("OMP_NUM_THREADS");
}

}  // namespace

void ReportIgnored(const char* name, const char* rule, std::string_view value) {
  if (Verbosity() >= 1) PrintIgnored(name, rule, value);
}

int ParseLevel(const char* text) {
  char* end = nullptr;
  const long level = std::strtol(text, &end, 10);
  return end != text && *end == '\0' && level >= 0 ? static_cast<int>(std::min(level, 1L << 20))
                                                   : -1;
}

int Verbosity() {
  static const int verbosity = [] {
    const char* const text = std::getenv("MLUOP_VERBOSE");
    if (text == nullptr || text[0] == '\0') return 0;
    if (const int level = ParseLevel(text); level >= 0) return std::min(level, 2);
    PrintIgnored("MLUOP_VERBOSE", "0, 1 or 2", text);
    return 0;
  }();
  return verbosity;
}

const char* VisibleDevices() {
  static const char* const devices = [] {
    const char* const text = std::getenv("MLUOP_VISIBLE_DEVICES");
    return text == nullptr || text[0] == '\0' ? nullptr : text;
  }();
  return devices;
}

int DefaultNumThreads() {
  static const int wanted = ThreadsFromEnvironment();
  if (wanted > 0) return wanted;
  const int quota_v1 =
      QuotaThreads("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  return std::min({AffinityThreads(), QuotaThreadsV2(), quota_v1, kMaxThreads});
}

}  // namespace mluop
