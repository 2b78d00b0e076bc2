// SPDX-License-Identifier: Apache-2.0
// Many calls of all operators from many threads: every result has the bits that one thread
// computes, and memory does not grow. `make load` runs far more calls than the defaults, which take
// seconds.
//   LOAD_CALLS   calls of all threads together
//   MEMORY_CALLS   calls over which memory must not grow
//   LOAD_SEED    seed of the order of the calls
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "mluops/extensions.h"
#include "mluops/runtime.h"
#include "testing/random.h"
#include "tests/support/examples.h"
#include "tests/support/forked.h"
#include "tests/support/small_cases.h"
#include "tests/support/tensors.h"
#include "tests/support/threads.h"

namespace mluop::testing {
namespace {

constexpr int kCallers = 8;
constexpr size_t kCasesPerOperator = 5;
constexpr double kMaxBytes = 600e3;  // the larger cases use several threads

int64_t NumberOf(const char* variable, int64_t default_value) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? default_value : std::atoll(text);
}

uint64_t Seed() { return static_cast<uint64_t>(NumberOf("LOAD_SEED", 1)); }

struct Expected {
  explicit Expected(const std::string& line) : test_case(ParseCase(line)) {}
  Case test_case;
  std::unique_ptr<PreparedCall> call;
  std::vector<char> outputs;
};

// Cases of all operators, with the outputs that one thread computes.
const std::vector<std::unique_ptr<Expected>>& AllExpected() {
  static const auto* const all = [] {
    auto* made = new std::vector<std::unique_ptr<Expected>>;
    const Handle handle;
    mluOpSetNumThreads(handle, 1);
    for (const std::string& line : SmallCases(kCasesPerOperator, kMaxBytes)) {
      made->push_back(std::make_unique<Expected>(line));
      Expected& expected = *made->back();
      expected.call = std::make_unique<PreparedCall>(expected.test_case, Placement::kBack);
      expected.call->PoisonOutputs();
      EXPECT_EQ(expected.call->Run(handle), MLUOP_STATUS_SUCCESS) << LastMessage();
      expected.outputs = OutputsOf(*expected.call);
    }
    return made;
  }();
  return *all;
}

// The buffers of one thread for every case. Runs on any thread, so it asserts nothing.
class Caller {
 public:
  explicit Caller(uint64_t seed) : random_(seed) {
    for (const auto& expected : AllExpected()) {
      const Placement placement = random_.Below(2) == 0 ? Placement::kFront : Placement::kBack;
      calls_.push_back(std::make_unique<PreparedCall>(*expected->call, placement));
    }
  }
  ~Caller() {
    if (handle_ != nullptr) mluOpDestroy(handle_);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Replaces the handle by one with a random number of threads.
  bool ChangeHandle() {
    if (handle_ != nullptr && mluOpDestroy(handle_) != MLUOP_STATUS_SUCCESS) return false;
    handle_ = nullptr;
    return mluOpCreate(&handle_) == MLUOP_STATUS_SUCCESS &&
           mluOpSetNumThreads(handle_, 1 + static_cast<int>(random_.Below(4))) ==
               MLUOP_STATUS_SUCCESS;
  }

  // Gives every second case a workspace of the getter's size.
  void AllocateWorkspaces() {
    for (size_t i = 0; i < calls_.size(); i += 2) {
      calls_[i]->SetWorkspace(calls_[i]->WantedWorkspace(handle_));
    }
  }

  bool CallSome() { return Call(static_cast<size_t>(random_.Below(Count()))); }

  bool Call(size_t index) {
    PreparedCall& call = *calls_[index];
    call.PoisonOutputs();
    return call.Run(handle_) == MLUOP_STATUS_SUCCESS && Agrees(call, *AllExpected()[index]);
  }

  int64_t Count() const { return static_cast<int64_t>(calls_.size()); }

 private:
  // Allocates nothing.
  static bool Agrees(const PreparedCall& call, const Expected& expected) {
    size_t offset = 0;
    for (const OutputRule& rule : expected.test_case.test->outputs) {
      const TensorArgument& tensor = call.Output(rule.tensor);
      const size_t size = tensor.ByteCount();
      if (size > 0 && std::memcmp(tensor.data, &expected.outputs[offset], size) != 0) return false;
      offset += size;
    }
    return true;
  }

  Random random_;
  mluOpHandle_t handle_ = nullptr;
  std::vector<std::unique_ptr<PreparedCall>> calls_;
};

TEST(Load, CasesHaveEveryOperator) {
  std::map<std::string_view, int> cases;
  for (const auto& expected : AllExpected()) ++cases[expected->test_case.op->spec.name];
  for (const FamilyTest* family : FamilyTests()) {
    for (const OperatorTest& test : family->operators) EXPECT_GT(cases[test.name], 0) << test.name;
  }
}

// Threads that call operators until Stop().
class BusyCallers {
 public:
  explicit BusyCallers(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.Start([this, i] {
        Caller caller(Seed() + static_cast<uint64_t>(i));
        mistakes_ += !caller.ChangeHandle();
        while (!stop_) {
          mistakes_ += !caller.CallSome();
          ++calls_;
        }
      });
    }
    while (calls_ < 10 * count) std::this_thread::yield();
  }
  ~BusyCallers() { Stop(); }
  BusyCallers(const BusyCallers&) = delete;
  BusyCallers& operator=(const BusyCallers&) = delete;

  int Stop() {
    stop_ = true;
    threads_.Wait();
    return mistakes_;
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> mistakes_{0};
  std::atomic<int64_t> calls_{0};
  DetachedThreads threads_;
};

// Process exit destroys nothing that a thread still uses.
TEST(Load, ExitIsCleanWhileOtherThreadsCompute) {
  for (int round = 0; round < 5; ++round) {
    const auto start_and_exit = [] {
      mluOpHandle_t idle = nullptr;
      mluOpCreate(&idle);
      auto* const leaked_callers = new BusyCallers(4);
      static_cast<void>(leaked_callers);
      return 0;
    };
    EXPECT_EQ(InForkedChild(start_and_exit, std::exit), 0) << "round " << round;
  }
}

// Each thread replaces its handle every 100 calls while the others run.
TEST(Load, EightCallersMatchSingleThread) {
  const int64_t calls = NumberOf("LOAD_CALLS", 8000) / kCallers;
  std::atomic<int64_t> mistakes{0}, made{0};
  static_cast<void>(AllExpected());
  OnThreads(kCallers, [&](int index) {
    Caller caller(Seed() * kCallers + static_cast<uint64_t>(index));
    for (int64_t i = 0; i < calls; ++i) {
      if (i % 100 == 0) mistakes += !caller.ChangeHandle();
      if (i == 0) caller.AllocateWorkspaces();
      mistakes += !caller.CallSome();
      ++made;
    }
  });
  EXPECT_EQ(mistakes, 0);
  EXPECT_EQ(made, calls * kCallers);
}

TEST(Load, ForkDuringCallsKeepsResults) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's allocator may be locked at the fork";
#endif
  Caller own(Seed());
  ASSERT_TRUE(own.ChangeHandle());
  BusyCallers others(4);
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      int mistakes = 0;
      for (int64_t i = 0; i < own.Count(); ++i) mistakes += !own.Call(static_cast<size_t>(i));
      _exit(mistakes);
    }
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(own.CallSome());
    EXPECT_EQ(StatusOf(child), 0);
  }
  EXPECT_EQ(others.Stop(), 0);
}

size_t ResidentBytes() {
  long long total = 0, resident = 0;
  FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%lld %lld", &total, &resident);
  std::fclose(file);
  return read == 2 ? static_cast<size_t>(resident) * static_cast<size_t>(getpagesize()) : 0;
}

// Creates and destroys descriptors, and makes a call that fails with an error message.
bool CreateDescriptorAndFail() {
  mluOpTensorDescriptor_t desc = nullptr;
  const int64_t dims[] = {1, 2, 3, 4};
  return mluOpCreateTensorDescriptor(&desc) == MLUOP_STATUS_SUCCESS &&
         mluOpSetTensorDescriptor_v2(desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, dims) ==
             MLUOP_STATUS_SUCCESS &&
         RunExample(nullptr, 7, desc, dims, 1, 1, desc, nullptr) == MLUOP_STATUS_BAD_PARAM &&
         mluOpDestroyTensorDescriptor(desc) == MLUOP_STATUS_SUCCESS;
}

// One handle per call, as in a program that keeps none.
TEST(Load, HandlesInARow) {
  const Case example = ParseCase(kExampleLine);
  PreparedCall call(example, Placement::kBack);
  int64_t failed = 0;
  const int64_t threads = CountThreads();
  for (int i = 0; i < 100000; ++i) {
    const Handle handle(2 + i % 3);
    failed += call.Run(handle) != MLUOP_STATUS_SUCCESS;
  }
  EXPECT_EQ(failed, 0) << LastMessage();
  EXPECT_LE(CountThreads(), threads + 3);
}

TEST(Load, MemoryDoesNotGrow) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer allocates memory too, and detects leaks itself";
#endif
  constexpr int64_t kCallsPerHandle = 50;
  constexpr int64_t kWarmUp = 20000;  // every thread has run the largest case
  const int64_t calls = NumberOf("MEMORY_CALLS", 20000);
  constexpr size_t kPages = size_t{1} << 20;  // allowed growth: the allocator's own variation
  // A huge page for scratch would count as 2 MiB of growth.
  ASSERT_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  Caller caller(Seed());
  int64_t mistakes = 0;
  const auto run = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (i % kCallsPerHandle == 0) mistakes += !caller.ChangeHandle();
      mistakes += !caller.CallSome();
      if (i % 10 == 0) mistakes += !CreateDescriptorAndFail();
    }
    mistakes += !caller.ChangeHandle();  // a new handle has no scratch
  };
  run(kWarmUp);
  const size_t resident = ResidentBytes(), in_use = mallinfo2().uordblks;
  run(calls);
  EXPECT_EQ(mistakes, 0);
  EXPECT_LE(ResidentBytes(), resident + kPages);
  EXPECT_LE(mallinfo2().uordblks, in_use + kPages);
  std::printf("%lld calls: resident %zu KiB before, %zu KiB after; allocated %zu and %zu KiB\n",
              static_cast<long long>(calls), resident >> 10, ResidentBytes() >> 10, in_use >> 10,
              mallinfo2().uordblks >> 10);
}

}  // namespace
}  // namespace mluop::testing
