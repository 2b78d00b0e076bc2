// SPDX-License-Identifier: Apache-2.0
// Tests a CUDA library or a CUDA driver that is missing, truncated, foreign, too old or failing. A
// call that needs a CUDA device sets an error message; the CPU device still works. library.cc and
// driver.c are the stubs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/child.h"

namespace mluop::testing {
namespace {

const std::string kStubs = MLUOPS_TEST_STUBS;  // the folder

std::string Stub(const std::string& name) { return kStubs + "/lib" + name + ".so"; }

constexpr const char* kAbsent =
    "mluOpCreate 1 mluOpCreate: MLUOP_VISIBLE_DEVICES must be an available device (";

// Returns the output of mluOpCreate if only cuda:0 is visible and `library` is the CUDA library.
std::string CreateWith(const std::string& library, const std::string& drivers = "/nosuch") {
  const ChildResult child =
      RunChild("create", {"MLUOP_VISIBLE_DEVICES=cuda:0", "MLUOP_CUDA_LIBRARY=" + library,
                          "LD_LIBRARY_PATH=" + drivers});
  EXPECT_EQ(child.status, 0) << child.errors;
  return child.output;
}

// Runs a valid call, a rejected call and an empty call, and counts the devices.
void ExpectCpuWorks(const std::string& library, const std::string& drivers = "/nosuch") {
  const std::vector<std::string> variables = {"MLUOP_CUDA_LIBRARY=" + library,
                                              "LD_LIBRARY_PATH=" + drivers};
  const ChildResult calls = RunChild("operator", variables);
  EXPECT_EQ(calls.status, 0) << calls.errors;
  EXPECT_EQ(calls.output, "0 3 0");
  const ChildResult devices = RunChild("devices", variables);
  EXPECT_EQ(devices.status, 0) << devices.errors;
  EXPECT_EQ(devices.output, "1 ");
}

void ExpectMessage(const std::string& message, const std::string& reason) {
  EXPECT_EQ(message, kAbsent + reason + "), got cuda:0\n");
}

// The reason starts with `reason` and ends with a message of the system.
void ExpectMessageAbout(const std::string& message, const std::string& reason) {
  EXPECT_EQ(message.find(kAbsent + reason), 0u) << message;
  const std::string end = "), got cuda:0\n";
  ASSERT_GE(message.size(), end.size());
  EXPECT_EQ(message.substr(message.size() - end.size()), end) << message;
}

TEST(CudaLibrary, MissingFileFailsMluOpCreateOnCuda) {
  for (const std::string file : {"/nosuch/libmluops_cuda.so", "/etc/passwd", "/etc"}) {
    ExpectMessageAbout(CreateWith(file), file + ": ");
    ExpectCpuWorks(file);
  }
}

// The system's loader would crash on some of these files.
TEST(CudaLibrary, TruncatedFileFailsMluOpCreateOnCuda) {
  const std::string file = ::testing::TempDir() + "mluops_cut_short_" + std::to_string(getpid());
  std::ifstream whole(Stub("no_devices"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  ASSERT_GT(bytes.size(), 4096u);
  for (const size_t size : {size_t{0}, size_t{10}, size_t{64}, size_t{1000}, size_t{4096},
                            bytes.size() / 2, bytes.size() - 1}) {
    SCOPED_TRACE(size);
    std::ofstream(file, std::ios::binary) << bytes.substr(0, size);
    ExpectMessageAbout(CreateWith(file), file + ": ");
    ExpectCpuWorks(file);
  }
  std::remove(file.c_str());
}

TEST(CudaLibrary, UndefinedSymbolFailsMluOpCreateOnCuda) {
  const std::string file = Stub("missing_symbol");
  ExpectMessageAbout(CreateWith(file), file + ": undefined symbol: ");
  ExpectCpuWorks(file);
}

TEST(CudaLibrary, ForeignLibraryFailsMluOpCreateOnCuda) {
  ExpectMessage(
      CreateWith("libm.so.6"),
      "libmluops_cuda.so is not an mluops device library (symbol mluopsDeviceLibrary is missing)");
  ExpectCpuWorks("libm.so.6");
}

TEST(CudaLibrary, OtherVersionFailsMluOpCreateOnCuda) {
  ExpectMessage(CreateWith(Stub("wrong_version")),
                "libmluops_cuda.so: version does not match libmluops.so");
  ExpectCpuWorks(Stub("wrong_version"));
}

TEST(CudaLibrary, MessageHasTheReasonWithoutDevices) {
  ExpectMessage(CreateWith(Stub("no_devices")), "CUDA: no devices (stub)");
  ExpectCpuWorks(Stub("no_devices"));
}

TEST(CudaLibrary, FailingDeviceFailsMluOpCreateWithItsError) {
  EXPECT_EQ(CreateWith(Stub("failing_device")),
            "mluOpCreate 2 mluOpCreate: cuda:0: cnrtErrorNoMem: out of memory\n");
}

#ifdef MLUOPS_CUDA_FILE
// The CUDA library itself, with stubs as drivers.
TEST(CudaDriver, BrokenDriverFailsMluOpCreateOnCuda) {
  ExpectMessageAbout(CreateWith(MLUOPS_CUDA_FILE, kStubs + "/broken_driver"), "CUDA: ");
  ExpectCpuWorks(MLUOPS_CUDA_FILE, kStubs + "/broken_driver");
}

TEST(CudaDriver, OldDriverFailsMluOpCreateOnCuda) {
  ExpectMessage(CreateWith(MLUOPS_CUDA_FILE, kStubs + "/old_driver"),
                "CUDA: CUDA driver version is insufficient for CUDA runtime version");
  ExpectCpuWorks(MLUOPS_CUDA_FILE, kStubs + "/old_driver");
}

TEST(CudaDriver, FailingDriverFailsMluOpCreateOnCuda) {
  ExpectMessage(CreateWith(MLUOPS_CUDA_FILE, kStubs + "/failing_driver"), "CUDA: unknown error");
  ExpectCpuWorks(MLUOPS_CUDA_FILE, kStubs + "/failing_driver");
}
#endif

}  // namespace
}  // namespace mluop::testing
