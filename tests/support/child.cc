// SPDX-License-Identifier: Apache-2.0
// Actions of the child process (child.h).
#include "tests/support/child.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/operator.h"
#include "mlu_op.h"
#include "mluops/extensions.h"
#include "mluops/runtime.h"
#include "tests/faults/failing_device.h"
#include "tests/support/examples.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

constexpr unsigned kTimeoutSeconds = 60;

std::string ReadAll(FILE* file) {
  std::string text;
  std::rewind(file);
  char part[4096];
  while (const size_t got = std::fread(part, 1, sizeof(part), file)) text.append(part, got);
  std::fclose(file);
  return text;
}

bool IsMluopVariable(const char* variable) {
  return std::strncmp(variable, "MLUOP_", 6) == 0 ||
         std::strncmp(variable, "OMP_NUM_THREADS=", 16) == 0;
}

// Returns true if `variables` defines the same name.
bool IsReplaced(std::string_view variable, const std::vector<std::string>& variables) {
  const std::string_view start = variable.substr(0, variable.find('=') + 1);
  for (const std::string& other : variables) {
    if (other.compare(0, start.size(), start) == 0) return true;
  }
  return false;
}

// "mluOpCreate 1 mluOpCreate: MLUOP_VISIBLE_DEVICES must be ..."
int Create() {
  mluOpHandle_t handle = nullptr;
  std::printf("mluOpCreate %d %s\n", mluOpCreate(&handle), mluOpGetLastErrorMessage());
  return handle == nullptr ? 0 : mluOpDestroy(handle);
}

// Prints one line for each runtime function that needs a device.
int UseRuntime() {
  unsigned int count = 77;
  int ordinal = 77;
  void* pointer = nullptr;
  char bytes[2] = {};
  cnrtQueue_t queue = nullptr;
  cnrtNotifier_t notifier = nullptr;
  const auto report = [](const char* name, cnrtRet_t result) {
    std::printf("%s %s %s\n", name, cnrtGetErrorName(result), mluOpGetLastErrorMessage());
  };
  report("cnrtGetDeviceCount", cnrtGetDeviceCount(&count));
  report("cnrtGetDevice", cnrtGetDevice(&ordinal));
  report("cnrtSetDevice", cnrtSetDevice(0));
  report("cnrtSyncDevice", cnrtSyncDevice());
  report("cnrtMalloc", cnrtMalloc(&pointer, 1));
  report("cnrtHostMalloc", cnrtHostMalloc(&pointer, 1));
  report("cnrtFree", cnrtFree(nullptr));
  report("cnrtFreeHost", cnrtFreeHost(nullptr));
  report("cnrtMemcpy", cnrtMemcpy(bytes, bytes + 1, 1, cnrtMemcpyHostToDev));
  report("cnrtMemcpyAsync", cnrtMemcpyAsync(bytes, bytes + 1, 1, nullptr, cnrtMemcpyHostToDev));
  report("cnrtMemset", cnrtMemset(bytes, 0, 1));
  report("cnrtMemsetAsync", cnrtMemsetAsync(bytes, 0, 1, nullptr));
  report("cnrtQueueCreate", cnrtQueueCreate(&queue));
  report("cnrtQueueSync", cnrtQueueSync(nullptr));
  report("cnrtNotifierCreate", cnrtNotifierCreate(&notifier));
  return 0;
}

// "cpu 0 0 ": the name, the status, the ordinal and the error message of that call.
int PrintOrdinals() {
  for (const char* name : {"cpu", "cuda:99"}) {
    int ordinal = 77;
    const mluOpStatus_t status = mluOpGetDeviceOrdinal(name, &ordinal);
    std::printf("%s %d %d %s\n", name, status, ordinal,
                status == MLUOP_STATUS_SUCCESS ? "" : mluOpGetLastErrorMessage());
  }
  return 0;
}

int PrintDevices() {
  unsigned int count = 0;
  const int status = cnrtGetDeviceCount(&count);
  std::printf("%u ", count);
  return status;
}

int PrintThreads() {
  const Handle handle;
  int threads = 0;
  const int status = mluOpGetNumThreads(handle, &threads);
  std::printf("%d", threads);
  return status;
}

// Makes a valid call, a call that returns BAD_PARAM, and a call with an empty tensor.
int RunThreeCalls() {
  const Handle handle;
  const Tensor x(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {2, 3, 4, 15});
  const Tensor y(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {2, 3, 4, 12});
  const Tensor none(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {0, 3, 4, 15});
  const Tensor no_pixels(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {0, 3, 4, 12});
  const int runs = RunExample(handle, 1, x, x.data(), 3, 5, y, y.data());
  const int rejected = RunExample(handle, 2, x, x.data(), 3, 5, y, y.data());
  const int skipped = RunExample(handle, 1, none, nullptr, 3, 5, no_pixels, nullptr);
  std::printf("%d %d %d", runs, rejected, skipped);
  return 0;
}

// Uses the attribute values with the most digits.
int RunLargePads() {
  const Handle handle;
  const Tensor feature(MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_HALF, {1, 2, 3, 4});
  const Tensor mask_h(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {5});
  const Tensor mask_w(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {5});
  const Tensor col(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_HALF, {12, 5});
  char workspace[48];
  return mluOpMaskedIm2colForward(handle, feature, feature.data(), mask_h, mask_h.data(), mask_w,
                                  mask_w.data(), 2, 3, INT32_MIN, INT32_MAX, workspace,
                                  sizeof(workspace), col, col.data());
}

// Calls an operator with an unreadable input, so that the kernel crashes.
int Crash() {
  const Handle handle;
  const Tensor x(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 8, 16, 9});
  const Tensor y(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 8, 16, 128});
  void* const unreadable = mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int status = RunExample(handle, 0, x, unreadable, 3, 3, y, y.data());
  std::printf("%d", status);
  return 0;
}

constexpr Operator kFailing = {
    OpSpec("failing", kFloat, {},
           {{"x", kIn, kT, kAnyLayout, "N", kSkip}, {"y", kOut, kT, kAnyLayout, "N", kSkip}})};

int RunFailingKernel() {
  const Handle handle;
  const Tensor x(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {3});
  const Tensor y(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {3});
  FailingDevice device(cnrtErrorUnknown);
  Device* const cpu = std::exchange(handle.get()->device, &device);
  const mluOpStatus_t status = Execute(kFailing, handle, {}, {{x, x.data()}, {y, y.data()}});
  handle.get()->device = cpu;
  return status;
}

int RunAverageWithoutArgmax() {
  const Handle handle;
  const auto made = [](mluOpDataType_t type, const std::vector<int64_t>& dims) {
    return Tensor(MLUOP_LAYOUT_ARRAY, type, dims);
  };
  const Tensor rois = made(MLUOP_DTYPE_FLOAT, {1, 7}), pts = made(MLUOP_DTYPE_FLOAT, {2, 3});
  const Tensor feature = made(MLUOP_DTYPE_FLOAT, {2, 3});
  const Tensor indices = made(MLUOP_DTYPE_INT32, {1, 1, 1, 1, 4});
  const Tensor pooled = made(MLUOP_DTYPE_FLOAT, {1, 1, 1, 1, 3});
  return mluOpRoiawarePool3dForward(handle, MLUOP_ROIAWARE_POOL_AVG, 1, 2, 3, rois, rois.data(),
                                    pts, pts.data(), feature, feature.data(), nullptr, 0, 4, 1, 1,
                                    1, nullptr, nullptr, indices, indices.data(), pooled,
                                    pooled.data());
}

// Prints four numbers of threads:
// - of a handle;
// - of the handle after an update on one CPU;
// - of a new handle on one CPU;
// - of the first handle after an update on all CPUs.
int ChangeAffinity() {
  const Handle handle;
  const auto print = [](mluOpHandle_t of) {
    int threads = 0;
    mluOpGetNumThreads(of, &threads);
    std::printf("%d ", threads);
  };
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof(all), &all) != 0) return 1;
  int cpu = 0;
  while (!CPU_ISSET(cpu, &all)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  print(handle);
  if (sched_setaffinity(0, sizeof(one), &one) != 0) return 2;
  if (mluOpUpdateContextInformation(handle) != MLUOP_STATUS_SUCCESS) return 3;
  print(handle);
  print(Handle());
  if (sched_setaffinity(0, sizeof(all), &all) != 0) return 4;
  if (mluOpUpdateContextInformation(handle) != MLUOP_STATUS_SUCCESS) return 5;
  print(handle);
  return 0;
}

// Forks. The child has none of the parent's workers, and must still exit through exit(), which runs
// destructors.
int ForkAndExit() {
  const Handle handle;
  const auto x = Nhwc({2, 20, 20, 81});
  const auto y = Nhwc({2, 20, 20, 400});
  const auto run = [&] { return RunExample(handle, 0, x, x.data(), 9, 9, y, y.data()); };
  if (run() != MLUOP_STATUS_SUCCESS) return 1;
  const pid_t child = fork();
  if (child == 0) {
    alarm(kTimeoutSeconds);
    std::printf("child %d ", run());
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("parent %d ", run());
  return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

struct Action {
  std::string_view name;
  int (*run)();
};
constexpr Action kActions[] = {{"create", Create},
                               {"runtime", UseRuntime},
                               {"devices", PrintDevices},
                               {"ordinals", PrintOrdinals},
                               {"threads", PrintThreads},
                               {"affinity", ChangeAffinity},
                               {"operator", RunThreeCalls},
                               {"large_pads", RunLargePads},
                               {"crash", Crash},
                               {"failing_kernel", RunFailingKernel},
                               {"without_argmax", RunAverageWithoutArgmax},
                               {"fork", ForkAndExit}};

}  // namespace

ChildResult RunChild(const std::string& action, const std::vector<std::string>& variables) {
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool kept = !IsMluopVariable(*variable) && !IsReplaced(*variable, variables);
    if (kept) environment.push_back(*variable);
  }
  for (const std::string& variable : variables) {
    environment.push_back(const_cast<char*>(variable.c_str()));
  }
  environment.push_back(nullptr);
  char program[] = "/proc/self/exe";
  std::string flag(kChildFlag);
  std::string name = action;
  char* arguments[] = {program, flag.data(), name.data(), nullptr};

  FILE* const output = std::tmpfile();
  FILE* const errors = std::tmpfile();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, fileno(output), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, fileno(errors), STDERR_FILENO);
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, program, &files, nullptr, arguments, environment.data()), 0);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  const int result = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return {result, ReadAll(output), ReadAll(errors)};
}

int RunAction(std::string_view name) {
  alarm(kTimeoutSeconds);
  for (const Action& action : kActions) {
    if (action.name == name) return action.run();
  }
  return 99;
}

}  // namespace mluop::testing
