// SPDX-License-Identifier: Apache-2.0
// Counts the results of each entry point: a fuzzer whose calls all fail tests little.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace mluop::fuzz {

enum class Outcome {
  kRan,
  kNothingToDo,
  kBadParam,
  kNotSupported,
  kTooMuchWork,
  kRejected,
  kOutcomes
};

// Printed at the end of the process if FUZZ_TALLY is set. The last line counts the judged calls: their status was compared
// with the contract and, if they ran, their results with the reference.
class Tally {
 public:
  Tally() = default;
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;
  ~Tally() {
    if (std::getenv("FUZZ_TALLY") == nullptr) return;
    int64_t judged = 0;
    for (const auto& [name, counts] : counts_) {
      int64_t all = 0;
      for (const int64_t count : counts) all += count;
      std::fprintf(stderr, "tally: %-48s %9lld", name.c_str(), static_cast<long long>(all));
      const char* const titles[] = {"ran",           "nothing to do", "bad param",
                                    "not supported", "too much work", "rejected"};
      for (size_t i = 0; i < counts.size(); ++i) {
        std::fprintf(stderr, "  %s %.1f %%", titles[i],
                     100.0 * static_cast<double>(counts[i]) / static_cast<double>(all));
      }
      std::fprintf(stderr, "\n");
      judged += all - counts[static_cast<size_t>(Outcome::kTooMuchWork)] -
                counts[static_cast<size_t>(Outcome::kRejected)];
    }
    std::fprintf(stderr, "tally: %lld judged calls\n", static_cast<long long>(judged));
  }

  void Count(const std::string& name, Outcome outcome) {
    ++counts_[name][static_cast<size_t>(outcome)];
  }

 private:
  std::map<std::string, std::array<int64_t, static_cast<size_t>(Outcome::kOutcomes)>> counts_;
};

}  // namespace mluop::fuzz
