// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <sched.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>

namespace mluop::tool {
namespace {

const std::string kSystem = "/sys/devices/system/cpu/cpu";

// Returns the first line of a file; "" if it cannot be read.
std::string LineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the value of the first line "key : value" of a file; "" if there is none.
std::string ValueOf(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

double NumberOf(const std::string& text) {
  std::istringstream stream(text);
  double number = 0;
  stream >> number;
  return number;
}

// Returns the number of cores in a list such as "0-3,8".
int CountOf(const std::string& list) {
  int count = 0;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) {
    const size_t dash = part.find('-');
    const double first = NumberOf(part);
    const double last = dash == std::string::npos ? first : NumberOf(part.substr(dash + 1));
    count += static_cast<int>(last - first) + 1;
  }
  return count;
}

int Cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

Row Caches() {
  Row caches = Row::array();
  for (int index = 0;; ++index) {
    const std::string folder = kSystem + "0/cache/index" + std::to_string(index) + "/";
    const std::string size = LineOf(folder + "size");
    if (size.empty()) return caches;
    const double unit = size.back() == 'M' ? 1 << 20 : size.back() == 'K' ? 1 << 10 : 1;
    caches.push_back({{"level", static_cast<int>(NumberOf(LineOf(folder + "level")))},
                      {"type", LineOf(folder + "type")},
                      {"bytes", NumberOf(size) * unit},
                      {"shared_by", CountOf(LineOf(folder + "shared_cpu_list"))}});
  }
}

}  // namespace

std::string CpuName() {
  const std::string name = ValueOf("/proc/cpuinfo", "model name");
  return name.empty() ? "cpu" : name;
}

Row CpuFacts() {
  Row facts = {{"name", CpuName()}, {"device", "cpu"}, {"cores", Cores()}};
  const double now = NumberOf(ValueOf("/proc/cpuinfo", "cpu MHz"));
  const double most = NumberOf(LineOf(kSystem + "0/cpufreq/cpuinfo_max_freq")) / 1000;
  if (now > 0) facts["clock_mhz"] = now;
  if (most > 0) facts["most_clock_mhz"] = most;
  if (const Row caches = Caches(); !caches.empty()) facts["caches"] = caches;
  const double kilobytes = NumberOf(ValueOf("/proc/meminfo", "MemTotal"));
  if (kilobytes > 0) facts["memory_bytes"] = kilobytes * 1024;
  return facts;
}

double CacheBytes(const Row& machine) {
  if (!machine.contains("caches")) return 0;
  double bytes = 0;
  for (const Row& cache : machine["caches"]) {
    if (cache.value("level", 0) < 2) continue;
    const int sharers = std::max(1, cache.value("shared_by", 1));
    const int copies = std::max(1, machine.value("cores", 1) / sharers);
    bytes += cache.value("bytes", 0.0) * copies;
  }
  return bytes;
}

std::string DateText(int64_t seconds_since_1970) {
  const auto time = static_cast<time_t>(seconds_since_1970);
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace mluop::tool
