// SPDX-License-Identifier: Apache-2.0
// Prints a hash of the outputs of a case on the simulated MLU. core_counts.sh compares the hashes of
// several numbers of clusters: the environment sets the number once per process.
//
//   print_bits 'border_align_forward N=1 ...'
#include <cstdint>
#include <cstdio>

#include "mlu_op.h"
#include "mluops/extensions.h"
#include "testing/device_call.h"
#include "tests/support/tensors.h"

int main(int argc, char** argv) {
  using namespace mluop::testing;
  if (argc != 2) return 2;
  const Case parsed = ParseCase(argv[1]);
  PreparedCall prepared(parsed, Placement::kFront);
  DeviceCall call(prepared, Placement::kFront);
  const Handle handle;
  const std::string fault = call.Run(handle, 0);
  if (!fault.empty()) {
    std::fprintf(stderr, "%s\n", fault.c_str());
    return 1;
  }
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char byte : OutputBytes(call.result())) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  }
  std::printf("%016llx\n", static_cast<unsigned long long>(hash));
  return 0;
}
