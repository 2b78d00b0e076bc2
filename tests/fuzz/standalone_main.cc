// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: on pseudo-random inputs, or on files and on the files of folders.
//   fuzz_calls_replay <number of inputs> [first]
//   fuzz_calls_replay <file or folder>...
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "testing/random.h"
#include "tests/fuzz/bytes.h"

namespace {

constexpr int64_t kMaxLength = 256;
std::atomic<int64_t> current = 0;
std::string current_file;

// On abort (the sanitizers abort too, with abort_on_error=1), prints the input.
void OnAbort(int) {
  if (current_file.empty()) {
    std::fprintf(stderr, "reproduce with the arguments: 1 %lld\n",
                 static_cast<long long>(current.load()));
  } else {
    std::fprintf(stderr, "reproduce with the argument: %s\n", current_file.c_str());
  }
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

void RunRandom(int64_t seed) {
  mluop::testing::Random random(static_cast<uint64_t>(seed));
  std::vector<uint8_t> input(static_cast<size_t>(random.Below(kMaxLength)));
  for (uint8_t& byte : input) byte = static_cast<uint8_t>(random.Bits());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

void RunFile(const std::string& path) {
  current_file = path;
  std::ifstream file(path, std::ios::binary);
  mluop::fuzz::Require(file.good(), "cannot be read", path.c_str());
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::vector<uint8_t> input(text.begin(), text.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

// In the order of their names. A folder without files is an error.
int64_t RunFolder(const std::string& path) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  mluop::fuzz::Require(!files.empty(), "must have files", path.c_str());
  for (const std::string& file : files) RunFile(file);
  return static_cast<int64_t>(files.size());
}

int64_t RunPath(const std::string& path) {
  if (std::filesystem::is_directory(path)) return RunFolder(path);
  RunFile(path);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGABRT, OnAbort);
  char* end = nullptr;
  int64_t count = argc > 1 ? std::strtoll(argv[1], &end, 10) : 1000;
  if (end != nullptr && *end != '\0') {
    count = 0;
    for (int i = 1; i < argc; ++i) count += RunPath(argv[i]);
    std::printf("%lld inputs\n", static_cast<long long>(count));
    return 0;
  }
  const int64_t first = argc > 2 ? std::strtoll(argv[2], nullptr, 10) : 0;
  for (current = first; current < first + count; ++current) RunRandom(current);
  std::printf("%lld inputs\n", static_cast<long long>(count));
  return 0;
}
