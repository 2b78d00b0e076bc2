// SPDX-License-Identifier: Apache-2.0
#include "core/environment.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/text.h"

namespace mluop {
namespace {

void PrintIgnored(const char* name, const char* rule, std::string_view value) {
  fprintf(stderr, "# %s must be %s, got %.*s; it is ignored\n", name, rule,
          MLUOP_SV(value.substr(0, 80)));
}

// Returns the variable's value; NULL if it is empty or not set.
const char* Variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr || text[0] == '\0' ? nullptr : text;
}

// Returns the leading positive number of a variable ("4", or "4,2" as in OpenMP); 0 if none.
int PositiveVariable(const char* name) {
  const char* const text = Variable(name);
  if (text == nullptr) return 0;
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

// Returns the number of CPUs in this thread's affinity mask. The kernel rejects a mask shorter than
// its own.
int AffinityThreads() {
  cpu_set_t masks[64] = {};  // 65536 CPUs; Linux supports 8192
  return sched_getaffinity(0, sizeof(masks), masks) == 0 ? CPU_COUNT_S(sizeof(masks), masks) : 1;
}

// Reads the one or two numbers at the start of a file. A number that is missing is unchanged.
void ReadNumbers(const char* path, int64_t* first, int64_t* second) {
  FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return;
  [[maybe_unused]] const int count = std::fscanf(file, "%" SCNd64 " %" SCNd64, first, second);
  std::fclose(file);
}

// Reads "quota period" from one file or, with `period_path`, from two. Returns the number of threads that
// the quota allows; kMaxThreads if there is none.
int QuotaThreads(const char* quota_path, const char* period_path = nullptr) {
  int64_t quota = 0, period = 0, unused = 0;
  ReadNumbers(quota_path, &quota, &period);  // v2 without limit: "max"
  if (period_path != nullptr) ReadNumbers(period_path, &period, &unused);
  if (quota <= 0 || period <= 0) return kMaxThreads;
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
    const char* const text = Variable("MLUOP_VERBOSE");
    if (text == nullptr) return 0;
    if (const int level = ParseLevel(text); level >= 0) return std::min(level, 2);
    PrintIgnored("MLUOP_VERBOSE", "0, 1 or 2", text);
    return 0;
  }();
  return verbosity;
}

const char* VisibleDevices() {
  static const char* const devices = Variable("MLUOP_VISIBLE_DEVICES");
  return devices;
}

int DefaultNumThreads() {
  static const int wanted = PositiveVariable("MLUOP_NUM_THREADS");
  if (wanted > 0) return wanted;
  static const int wanted_by_openmp = PositiveVariable("OMP_NUM_THREADS");
  if (wanted_by_openmp > 0) return wanted_by_openmp;
  const int quota_v1 =
      QuotaThreads("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  return std::min({AffinityThreads(), QuotaThreadsV2(), quota_v1, kMaxThreads});
}

}  // namespace mluop
