// SPDX-License-Identifier: Apache-2.0
// Sizes of the caches, read once. They choose kinds of stores, never the order of a sum.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cpu/tuning.h"

namespace mluop {
namespace {

// Returns the size of the L3 that the first core uses, in bytes; 0 if unknown. sysconf(3) returns the
// L3 of the whole socket on AMD (384 MiB for 12 x 32 MiB).
size_t L3Bytes() {
  size_t kibibytes = 0;
  if (std::FILE* file = std::fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r")) {
    if (std::fscanf(file, "%zuK", &kibibytes) != 1) kibibytes = 0;
    std::fclose(file);
  }
  return kibibytes << 10;
}

bool IsAmd() {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

}  // namespace

bool ShouldStream(size_t bytes) {
  static constexpr size_t kDefault = size_t{8} << 20;
  static const size_t least = [] {
    if (const char* s = std::getenv("XSTREAM")) return static_cast<size_t>(std::atol(s)) << 20;
    return IsAmd() ? std::max(kDefault, L3Bytes() / 2) : kDefault;
  }();
  return bytes >= least;
}

}  // namespace mluop
