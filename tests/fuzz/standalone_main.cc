// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: on pseudo-random inputs, or on the files that are named.
//   fuzz_calls_replay <number of inputs> [first]
//   fuzz_calls_replay <file>...
#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bytes.h"
#include "testing/random.h"

namespace {

constexpr int64_t kMaxLength = 256;
std::atomic<int64_t> current = 0;

// A failure aborts (the sanitizers too, with abort_on_error=1): say which input it was.
void OnAbort(int) {
  std::fprintf(stderr, "repeat it with the arguments: 1 %lld\n",
               static_cast<long long>(current.load()));
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

void RunRandom(int64_t seed) {
  mluop::testing::Random random(static_cast<uint64_t>(seed));
  std::vector<uint8_t> input(static_cast<size_t>(random.Below(kMaxLength)));
  for (uint8_t& byte : input) byte = static_cast<uint8_t>(random.Bits());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

void RunFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  mluop::fuzz::Require(file.good(), "cannot be read", path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::vector<uint8_t> input(text.begin(), text.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGABRT, OnAbort);
  char* end = nullptr;
  const int64_t count = argc > 1 ? std::strtoll(argv[1], &end, 10) : 1000;
  if (end != nullptr && *end != '\0') {
    for (int i = 1; i < argc; ++i) RunFile(argv[i]);
    return 0;
  }
  const int64_t first = argc > 2 ? std::strtoll(argv[2], nullptr, 10) : 0;
  for (current = first; current < first + count; ++current) RunRandom(current);
  std::printf("%lld inputs\n", static_cast<long long>(count));
  return 0;
}
