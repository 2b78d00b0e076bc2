// SPDX-License-Identifier: Apache-2.0
// Measures the overhead of a parallel loop: the rows of the table in docs/decisions/0002-threads.md, minimum over the
// rounds, in microseconds. Build with -DMLUOPS_BENCH=ON; run as `bench_threads [rounds] [threads] [row]`. To compare two
// implementations, run their programs in turn.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "cpu/thread_pool.h"

namespace {

using Clock = std::chrono::steady_clock;
using mluop::ThreadPool;

double MicrosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Busy loop of dependent additions. It is aligned and not inlined, so that calibration and benchmark
// run the same code: a loop across two cache lines takes twice the time.
[[gnu::noinline, gnu::aligned(64)]] void Spin(int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) asm volatile("" : "+r"(i));
}

double StepsPerMicrosecond() {
  constexpr int64_t kSteps = 1000000;
  double best = 0;
  for (int i = 0; i < 200; ++i) {
    const auto start = Clock::now();
    Spin(kSteps);
    best = std::max(best, static_cast<double>(kSteps) / MicrosecondsSince(start));
  }
  return best;
}

class Bench {
 public:
  Bench(int threads, int rounds) : threads_(threads), rounds_(rounds) {}

  // The least time of `body()` over the rounds.
  template <typename Body>
  double Minimum(const Body& body) const {
    double least = 1e30;
    for (int i = 0; i < rounds_; ++i) least = std::min(least, body());
    return least;
  }

  // Runs a parallel loop of 8 ranges with `work` microseconds of total work.
  void Loop(ThreadPool& pool, double work) const {
    const auto steps = static_cast<int64_t>(work / 8 * rate_);
    pool.For(8, 1, [steps](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) Spin(steps);
    });
  }

  // Returns the time per loop of back-to-back loops.
  double Hot(double work) const {
    ThreadPool pool(threads_);
    const int count = work > 0 ? 200 : 2000;
    return Minimum([&] {
      const auto start = Clock::now();
      for (int i = 0; i < count; ++i) Loop(pool, work);
      return MicrosecondsSince(start) / count;
    });
  }

  // Returns the time of a loop after 20 ms idle: the median of 9, because single times vary.
  double AfterIdling(double work) const {
    ThreadPool pool(threads_);
    return Minimum([&] {
      std::vector<double> times;
      for (int i = 0; i < 9; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const auto start = Clock::now();
        Loop(pool, work);
        times.push_back(MicrosecondsSince(start));
      }
      std::nth_element(times.begin(), times.begin() + 4, times.end());
      return times[4];
    });
  }

  // Returns the total time divided by the number of loops, with `callers` concurrent callers.
  double Callers(int callers, double work) const {
    constexpr int kCount = 200;
    return Minimum([&] {
      const auto start = Clock::now();
      std::vector<std::thread> threads;
      for (int i = 0; i < callers; ++i) {
        threads.emplace_back([&] {
          ThreadPool pool(threads_);
          for (int j = 0; j < kCount; ++j) Loop(pool, work);
        });
      }
      for (std::thread& thread : threads) thread.join();
      return MicrosecondsSince(start) / (callers * kCount);
    });
  }

 private:
  int threads_;
  int rounds_;
  double rate_ = StepsPerMicrosecond();
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const char* const only = argc > 3 ? argv[3] : "";
  const Bench bench(threads, rounds);
  const auto print = [&](const char* name, const auto& measure) {
    if (std::strstr(name, only) == nullptr) return;
    std::printf("%s %.2f\n", name, measure());
    std::fflush(stdout);
  };
  print("empty_hot", [&] { return bench.Hot(0); });
  print("work_5", [&] { return bench.Hot(5); });
  print("work_20", [&] { return bench.Hot(20); });
  print("work_50", [&] { return bench.Hot(50); });
  print("empty_idle", [&] { return bench.AfterIdling(0); });
  print("work_240_idle", [&] { return bench.AfterIdling(240); });
  print("callers_2", [&] { return bench.Callers(2, 240); });
  print("callers_8", [&] { return bench.Callers(8, 240); });
  print("callers_8_small", [&] { return bench.Callers(8, 20); });
  return 0;
}
