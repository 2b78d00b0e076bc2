// SPDX-License-Identifier: Apache-2.0
// A CUDA library or a CUDA driver that is missing, broken, foreign, too old or failing: a sentence
// where a CUDA device is asked for, and the CPU works as ever. The stubs are made in faults/.
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
    "mluOpCreate 1 mluOpCreate: MLUOP_VISIBLE_DEVICES must be a device that is present (";

// What mluOpCreate says where only cuda:0 is visible, with this file as the CUDA library.
std::string CreateWith(const std::string& library, const std::string& drivers = "/nosuch") {
  const ChildResult child =
      RunChild("create", {"MLUOP_VISIBLE_DEVICES=cuda:0", "MLUOP_CUDA_LIBRARY=" + library,
                          "LD_LIBRARY_PATH=" + drivers});
  EXPECT_EQ(child.status, 0) << child.errors;
  return child.output;
}

// One call that runs, one that is refused, one that has nothing to do; and the list of devices.
void ExpectTheCpuWorks(const std::string& library, const std::string& drivers = "/nosuch") {
  const std::vector<std::string> variables = {"MLUOP_CUDA_LIBRARY=" + library,
                                              "LD_LIBRARY_PATH=" + drivers};
  const ChildResult calls = RunChild("psamask", variables);
  EXPECT_EQ(calls.status, 0) << calls.errors;
  EXPECT_EQ(calls.output, "0 3 0");
  const ChildResult devices = RunChild("devices", variables);
  EXPECT_EQ(devices.status, 0) << devices.errors;
  EXPECT_EQ(devices.output, "1 ");
}

void ExpectSentence(const std::string& said, const std::string& reason) {
  EXPECT_EQ(said, kAbsent + reason + "), got cuda:0\n");
}

// The reason begins so, and goes on in the words of the system.
void ExpectSentenceAbout(const std::string& said, const std::string& reason) {
  EXPECT_EQ(said.find(kAbsent + reason), 0u) << said;
  const std::string end = "), got cuda:0\n";
  ASSERT_GE(said.size(), end.size());
  EXPECT_EQ(said.substr(said.size() - end.size()), end) << said;
}

TEST(CudaLibrary, ThatCannotBeLoadedIsAFaultWhereItIsNeeded) {
  for (const std::string file : {"/nosuch/libmluops_cuda.so", "/etc/passwd", "/etc"}) {
    ExpectSentenceAbout(CreateWith(file), file + ": ");
    ExpectTheCpuWorks(file);
  }
}

// Which the system's loader would die of.
TEST(CudaLibrary, ThatIsCutShortIsAFault) {
  const std::string file = ::testing::TempDir() + "mluops_cut_short_" + std::to_string(getpid());
  std::ifstream whole(Stub("no_devices"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  ASSERT_GT(bytes.size(), 4096u);
  for (const size_t size : {size_t{0}, size_t{10}, size_t{64}, size_t{1000}, size_t{4096},
                            bytes.size() / 2, bytes.size() - 1}) {
    SCOPED_TRACE(size);
    std::ofstream(file, std::ios::binary) << bytes.substr(0, size);
    ExpectSentenceAbout(CreateWith(file), file + ": ");
    ExpectTheCpuWorks(file);
  }
  std::remove(file.c_str());
}

TEST(CudaLibrary, ThatMissesASymbolIsAFault) {
  const std::string file = Stub("misses_symbol");
  ExpectSentenceAbout(CreateWith(file), file + ": undefined symbol: ");
  ExpectTheCpuWorks(file);
}

TEST(CudaLibrary, ThatIsNotOursIsAFault) {
  ExpectSentence(CreateWith("libm.so.6"), "libmluops_cuda.so is no library of ours");
  ExpectTheCpuWorks("libm.so.6");
}

TEST(CudaLibrary, OfAnotherVersionIsAFault) {
  ExpectSentence(CreateWith(Stub("other_version")), "libmluops_cuda.so is of another version");
  ExpectTheCpuWorks(Stub("other_version"));
}

TEST(CudaLibrary, WithoutDevicesSaysWhyInTheSentence) {
  ExpectSentence(CreateWith(Stub("no_devices")), "CUDA: as it should");
  ExpectTheCpuWorks(Stub("no_devices"));
}

TEST(CudaLibrary, WithADeviceThatFailsIsAStatusAndASentence) {
  EXPECT_EQ(CreateWith(Stub("failing_device")),
            "mluOpCreate 2 mluOpCreate: cuda:0: cnrtErrorNoMem: out of memory\n");
}

#ifdef MLUOPS_CUDA_FILE
// The CUDA part itself, on drivers that are stubs.
TEST(CudaDriver, ThatIsBrokenIsAFaultWhereADeviceIsNeeded) {
  ExpectSentenceAbout(CreateWith(MLUOPS_CUDA_FILE, kStubs + "/broken_driver"), "CUDA: ");
  ExpectTheCpuWorks(MLUOPS_CUDA_FILE, kStubs + "/broken_driver");
}

TEST(CudaDriver, ThatIsTooOldIsAFaultWhereADeviceIsNeeded) {
  ExpectSentence(CreateWith(MLUOPS_CUDA_FILE, kStubs + "/old_driver"),
                 "CUDA: CUDA driver version is insufficient for CUDA runtime version");
  ExpectTheCpuWorks(MLUOPS_CUDA_FILE, kStubs + "/old_driver");
}

TEST(CudaDriver, ThatDoesNotStartIsAFaultWhereADeviceIsNeeded) {
  ExpectSentence(CreateWith(MLUOPS_CUDA_FILE, kStubs + "/failing_driver"), "CUDA: unknown error");
  ExpectTheCpuWorks(MLUOPS_CUDA_FILE, kStubs + "/failing_driver");
}
#endif

}  // namespace
}  // namespace mluop::testing
