// SPDX-License-Identifier: Apache-2.0
// Reads case lines from standard input and prints each with a hash of its outputs on the simulated
// MLU. core_counts.sh compares the hashes of several numbers of clusters: the environment sets the
// number once per process.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

#include "mlu_op.h"
#include "mluops/extensions.h"
#include "testing/device_call.h"
#include "tests/support/tensors.h"

int main() {
  using namespace mluop::testing;
  const Handle handle;
  for (std::string line; std::getline(std::cin, line);) {
    const Case parsed = ParseCase(line);
    PreparedCall prepared(parsed, Placement::kFront);
    DeviceCall call(prepared, Placement::kFront);
    const std::string error = call.Run(handle, 0);
    if (!error.empty()) {
      std::fprintf(stderr, "%s: %s\n", line.c_str(), error.c_str());
      return 1;
    }
    uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (const char byte : OutputBytes(call.result())) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
    }
    std::printf("%016llx %s\n", static_cast<unsigned long long>(hash), line.c_str());
  }
  return 0;
}
