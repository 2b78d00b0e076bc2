// SPDX-License-Identifier: Apache-2.0
// Environment variables: devices, threads, verbosity. The library reads each one once, so most
// tests run a child process.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "core/device.h"
#include "mluops/extensions.h"
#include "testing/case.h"
#include "tests/support/child.h"
#include "tests/support/examples.h"

namespace mluop::testing {
namespace {

const std::string kExample = kExampleOperator;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void ExpectError(const char* text, const std::string& value) {
  const DeviceList list = ParseDevices(text);
  const std::string error = list.error;
  EXPECT_EQ(list.count, 0) << text;
  EXPECT_EQ(error.find("MLUOP_VISIBLE_DEVICES must be "), 0u) << error;
  const std::string end = ", got " + value;
  ASSERT_GE(error.size(), end.size());
  EXPECT_EQ(error.substr(error.size() - end.size()), end);
}

TEST(VisibleDevices, CpuIsFirstByDefault) {
  const DeviceList list = ParseDevices(nullptr);
  ASSERT_GE(list.count, 1);
  EXPECT_STREQ(list.devices[0]->name(), "cpu");
  EXPECT_STREQ(list.error, "");
}

TEST(VisibleDevices, CpuOnlySucceeds) {
  const DeviceList list = ParseDevices("cpu");
  ASSERT_EQ(list.count, 1);
  EXPECT_EQ(list.devices[0], CpuDevice());
}

TEST(VisibleDevices, UnknownNameFails) {
  ExpectError("tpu", "tpu");
  ExpectError("cpu,tpu", "tpu");
  ExpectError("CPU", "CPU");
  ExpectError("cpu0", "cpu0");
  ExpectError("cuda", "cuda");
  ExpectError("cuda:", "cuda:");
  ExpectError("cuda:x", "cuda:x");
  ExpectError("cuda:-1", "cuda:-1");
  ExpectError(" cpu", " cpu");
}

TEST(VisibleDevices, AbsentDeviceFails) {
  ExpectError("cuda:99", "cuda:99");
  ExpectError("cpu,cuda:99", "cuda:99");
  for (const std::string absent : {"cuda:99", "cuda:1000", "cuda:123456789012345678901234567890"}) {
    ExpectError(absent.c_str(), absent);
    // The reason follows if no CUDA device is present.
    EXPECT_EQ(std::string(ParseDevices(absent.c_str()).error)
                  .find("MLUOP_VISIBLE_DEVICES must be an available device"),
              0u);
  }
}

TEST(VisibleDevices, RepeatedNameFails) { ExpectError("cpu,cpu", "cpu"); }

TEST(VisibleDevices, EmptyNameFails) {
  ExpectError("cpu,", "");
  ExpectError(",cpu", "");
}

TEST(VisibleDevices, LongNameIsTruncatedInTheMessage) {
  const std::string name(100000, 'x');
  const DeviceList list = ParseDevices(name.c_str());
  EXPECT_EQ(list.count, 0);
  EXPECT_LT(std::string(list.error).size(), sizeof(list.error));
  EXPECT_NE(std::string(list.error).find("xxx"), std::string::npos);
}

TEST(VisibleDevices, WrongListFailsMluOpCreateWithAMessage) {
  for (const std::string wrong : {"tpu", "cuda:99", "cpu,cpu", ","}) {
    const ChildResult child = RunChild("create", {"MLUOP_VISIBLE_DEVICES=" + wrong});
    EXPECT_EQ(child.status, 0) << child.errors;
    EXPECT_EQ(child.output.find("mluOpCreate 1 mluOpCreate: MLUOP_VISIBLE_DEVICES must be "), 0u)
        << child.output;
  }
}

TEST(VisibleDevices, WrongListFailsEveryRuntimeFunction) {
  const ChildResult child = RunChild("runtime", {"MLUOP_VISIBLE_DEVICES=tpu"});
  EXPECT_EQ(child.status, 0) << child.errors;
  const std::vector<std::string> lines = Lines(child.output);
  EXPECT_EQ(lines.size(), 15u);
  for (const std::string& line : lines) {
    const std::string function = line.substr(0, line.find(' '));
    EXPECT_EQ(line, function + " cnrtErrorNoDevice " + function +
                        ": MLUOP_VISIBLE_DEVICES must be cpu, cuda:N or mlu:0, got tpu");
  }
}

TEST(VisibleDevices, EmptyVariableMeansUnset) {
  const DeviceList list = ParseDevices(""), wanted = ParseDevices(nullptr);
  EXPECT_STREQ(list.error, "");
  ASSERT_EQ(list.count, wanted.count);
  for (int i = 0; i < list.count; ++i) EXPECT_EQ(list.devices[i], wanted.devices[i]);
  EXPECT_EQ(RunChild("create", {"MLUOP_VISIBLE_DEVICES="}).output, "mluOpCreate 0 \n");
}

std::string OrdinalWith(const std::vector<std::string>& variables) {
  return RunChild("ordinals", variables).output;
}

TEST(GetDeviceOrdinal, FollowsVisibleDevices) {
  const std::string absent = " 7 77 mluOpGetDeviceOrdinal: name must be a device that is present";
  EXPECT_EQ(OrdinalWith({}).find("cpu 0 0 \ncuda:99" + absent), 0u) << OrdinalWith({});
  EXPECT_EQ(OrdinalWith({"MLUOP_VISIBLE_DEVICES="}), OrdinalWith({}));
  EXPECT_EQ(OrdinalWith({"MLUOP_VISIBLE_DEVICES=cpu"}),
            "cpu 0 0 \ncuda:99 3 77 mluOpGetDeviceOrdinal: name must be in MLUOP_VISIBLE_DEVICES = "
            "cpu, got cuda:99\n");
  EXPECT_EQ(OrdinalWith({"MLUOP_VISIBLE_DEVICES=tpu"})
                .find("cpu 1 77 mluOpGetDeviceOrdinal: MLUOP_VISIBLE_DEVICES must be "),
            0u);
}

TEST(GetDeviceOrdinal, NullArgumentReturnsBadParam) {
  int ordinal = 77;
  EXPECT_EQ(mluOpGetDeviceOrdinal(nullptr, &ordinal), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetDeviceOrdinal("cpu", nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(ordinal, 77);
}

TEST(VisibleDevices, ValidListSucceeds) {
  const ChildResult child = RunChild("create", {"MLUOP_VISIBLE_DEVICES=cpu"});
  EXPECT_EQ(child.status, 0) << child.errors;
  EXPECT_EQ(child.output, "mluOpCreate 0 \n");
}

std::string ThreadsWith(const std::vector<std::string>& variables) {
  const ChildResult child = RunChild("threads", variables);
  EXPECT_EQ(child.status, 0) << child.errors;
  return child.output;
}

TEST(NumThreads, MluopVariablePrecedesOpenMp) {
  EXPECT_EQ(ThreadsWith({"MLUOP_NUM_THREADS=5", "OMP_NUM_THREADS=7"}), "5");
}

TEST(NumThreads, OpenMpVariableIsTheDefault) {
  EXPECT_EQ(ThreadsWith({"OMP_NUM_THREADS=7"}), "7");
  EXPECT_EQ(ThreadsWith({"OMP_NUM_THREADS=3,2"}), "3");
}

TEST(NumThreads, InvalidVariableIsIgnored) {
  for (const std::string wrong : {"0", "-3", "many", "", "4x", "99999999999999999999"}) {
    EXPECT_EQ(ThreadsWith({"MLUOP_NUM_THREADS=" + wrong, "OMP_NUM_THREADS=6"}), "6") << wrong;
  }
}

TEST(NumThreads, IsLimitedTo1024) { EXPECT_EQ(ThreadsWith({"MLUOP_NUM_THREADS=1000000"}), "1024"); }

TEST(NumThreads, DefaultComesFromTheMachine) {
  const int threads = std::stoi(ThreadsWith({}));
  EXPECT_GE(threads, 1);
  EXPECT_LE(threads, 1024);
  EXPECT_EQ(ThreadsWith({"OMP_NUM_THREADS=none"}), std::to_string(threads));
}

TEST(NumThreads, FollowsAffinityAtUpdateAndInNewHandles) {
  const ChildResult child = RunChild("affinity", {});
  EXPECT_EQ(child.status, 0) << child.errors;
  const std::string all = child.output.substr(0, child.output.find(' '));
  EXPECT_EQ(child.output, all + " 1 1 " + all + " ");
}

TEST(NumThreads, VariableOverridesAffinity) {
  EXPECT_EQ(RunChild("affinity", {"MLUOP_NUM_THREADS=5"}).output, "5 5 5 5 ");
}

// Returns the first line of the log. Fails and returns "" if the log is empty.
std::string LineOf(const ChildResult& child) {
  const std::vector<std::string> lines = Lines(child.errors);
  EXPECT_FALSE(lines.empty());
  if (lines.empty()) return "";
  return lines.front();
}

TEST(Verbose, DefaultPrintsNothing) {
  for (const std::vector<std::string>& variables :
       {std::vector<std::string>{}, {"MLUOP_VERBOSE=0"}, {"MLUOP_VERBOSE="}}) {
    const ChildResult child = RunChild("operator", variables);
    EXPECT_EQ(child.status, 0);
    EXPECT_EQ(child.output, "0 3 0");
    EXPECT_EQ(child.errors, "");
  }
}

TEST(Verbose, Level1PrintsCaseBeforeAndStatusAfterEachOperator) {
  const ChildResult child = RunChild("operator", {"MLUOP_VERBOSE=1", "MLUOP_NUM_THREADS=3"});
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.output, "0 3 0");
  const std::vector<std::string> lines = Lines(child.errors);
  ASSERT_EQ(lines.size(), 4u) << child.errors;  // the last two are of the empty call
  const Case parsed = ParseCase(lines[0]);
  EXPECT_EQ(parsed.op->spec.name, kExampleOperator);
  const std::map<std::string, double, std::less<>> values = {
      {"N", 2}, {"H", 3}, {"W", 4}, {"psa_type", 1}, {"h_mask", 3}, {"w_mask", 5}};
  EXPECT_EQ(parsed.values, values);
  EXPECT_TRUE(lines[1].starts_with("# " + kExample + ": MLUOP_STATUS_SUCCESS in ")) << lines[1];
  EXPECT_EQ(lines[1].substr(lines[1].size() - 3), " us") << lines[1];
}

TEST(Verbose, LineHasDeviceThreadsImplementationWorkspaceTypesAndLayouts) {
  const ChildResult child = RunChild("large_pads", {"MLUOP_VERBOSE=1", "MLUOP_NUM_THREADS=3"});
  const std::string line = LineOf(child);
  const std::string start = std::string("  # cpu, ") + CpuDevice()->architecture() + ", 3 threads";
  const std::string end =
      ", workspace 48 bytes, feature half NCHW, mask_h_idx int32 ARRAY, mask_w_idx int32 ARRAY, "
      "data_col half ARRAY";
  const OpSpec& spec = FindOperator(kPadsOperator)->spec;
  const auto infos = CpuDevice()->Implementations(spec);
  const bool named = std::any_of(infos.begin(), infos.end(), [&](const ImplementationInfo& info) {
    const std::string rest = start + ", " + kPadsOperator + ":" + std::string(info.name) + end;
    return line.size() > rest.size() && line.substr(line.size() - rest.size()) == rest;
  });
  EXPECT_TRUE(named) << line;
}

TEST(Verbose, EmptyCallNamesTheEmptyTensor) {
  const ChildResult child = RunChild("operator", {"MLUOP_VERBOSE=1"});
  const std::vector<std::string> lines = Lines(child.errors);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines.back(), "# " + kExample + ": MLUOP_STATUS_SUCCESS in 0.0 us");
  const std::string& line = lines[lines.size() - 2];
  EXPECT_EQ(ParseCase(line).values.at("N"), 0) << line;
  const std::string end =
      ", nothing to compute: x is empty, workspace 0 bytes, x float NHWC, y float NHWC";
  EXPECT_EQ(line.substr(line.size() - end.size()), end);
}

// The kernel reads memory that the process may not read.
TEST(Verbose, CrashLeavesTheLineThatRepeatsTheCall) {
  const ChildResult child = RunChild("crash", {"MLUOP_VERBOSE=1"});
  EXPECT_NE(child.status, 0);
  EXPECT_EQ(child.output, "");
  const std::string line = LineOf(child);
  ASSERT_TRUE(line.starts_with(kExample + " ")) << line;
  const Case parsed = ParseCase(line);
  const std::map<std::string, double, std::less<>> values = {
      {"N", 1}, {"H", 8}, {"W", 16}, {"psa_type", 0}, {"h_mask", 3}, {"w_mask", 3}};
  EXPECT_EQ(parsed.values, values);
  EXPECT_EQ(child.errors.find("# " + kExample + ": "), std::string::npos) << child.errors;
}

TEST(Verbose, Level2AddsFailures) {
  const ChildResult child = RunChild("operator", {"MLUOP_VERBOSE=2"});
  const std::vector<std::string> lines = Lines(child.errors);
  ASSERT_EQ(lines.size(), 5u) << child.errors;
  EXPECT_EQ(lines[2], "# MLUOP_STATUS_BAD_PARAM: " + kExample + ": psa_type must be 0 or 1, got 2");
}

TEST(Verbose, FailedKernelHasItsStatusInTheSecondLine) {
  const ChildResult child = RunChild("failing_kernel", {"MLUOP_VERBOSE=1"});
  EXPECT_EQ(child.status, MLUOP_STATUS_EXECUTION_FAILED);
  const std::vector<std::string> lines = Lines(child.errors);
  ASSERT_EQ(lines.size(), 2u) << child.errors;
  EXPECT_EQ(lines[0].find("failing N=3  # failing, none, "), 0u) << lines[0];
  EXPECT_NE(lines[0].find(" threads, no implementation applies, workspace 0 bytes"),
            std::string::npos)
      << lines[0];
  EXPECT_EQ(lines[1].find("# failing: MLUOP_STATUS_EXECUTION_FAILED "), 0u) << lines[1];
}

TEST(Verbose, ReportsMalformedVariableOnce) {
  const ChildResult child = RunChild("affinity", {"MLUOP_VERBOSE=1", "MLUOP_NUM_THREADS=abc"});
  EXPECT_EQ(child.errors,
            "# MLUOP_NUM_THREADS must be a positive number, got abc; it is ignored\n");
  EXPECT_EQ(RunChild("affinity", {"MLUOP_NUM_THREADS=abc"}).errors, "");
  EXPECT_EQ(RunChild("affinity", {"MLUOP_VERBOSE=yes", "MLUOP_NUM_THREADS=abc"}).errors,
            "# MLUOP_VERBOSE must be 0, 1 or 2, got yes; it is ignored\n");
}

TEST(Verbose, LineNamesAbsentTensor) {
  const ChildResult child = RunChild("without_argmax", {"MLUOP_VERBOSE=1"});
  EXPECT_EQ(child.status, 0) << child.errors;
  EXPECT_EQ(ParseCase(LineOf(child)).Option("argmax"), "absent") << child.errors;
}

TEST(Verbose, LineHasExactNumbersOfAnySize) {
  const ChildResult child = RunChild("large_pads", {"MLUOP_VERBOSE=1"});
  EXPECT_EQ(child.status, 0);
  const Case parsed = ParseCase(LineOf(child));
  EXPECT_EQ(parsed.values.at("pad_h"), double{INT32_MIN}) << child.errors;
  EXPECT_EQ(parsed.values.at("pad_w"), double{INT32_MAX}) << child.errors;
  EXPECT_EQ(parsed.dtype, MLUOP_DTYPE_HALF);
}

}  // namespace
}  // namespace mluop::testing
