// SPDX-License-Identifier: Apache-2.0
// Environment variables: devices, threads, verbosity. The library reads each one once, so most
// tests run a child process.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "core/device.h"
#include "testing/case.h"
#include "tests/support/child.h"

namespace mluop::testing {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void ExpectFault(const char* text, const std::string& culprit) {
  const DeviceList list = ParseDevices(text);
  const std::string fault = list.fault;
  EXPECT_EQ(list.count, 0) << text;
  EXPECT_EQ(fault.find("MLUOP_VISIBLE_DEVICES must be "), 0u) << fault;
  const std::string end = ", got " + culprit;
  ASSERT_GE(fault.size(), end.size());
  EXPECT_EQ(fault.substr(fault.size() - end.size()), end);
}

TEST(VisibleDevices, CpuIsFirstByDefault) {
  const DeviceList list = ParseDevices(nullptr);
  ASSERT_GE(list.count, 1);
  EXPECT_STREQ(list.devices[0]->name(), "cpu");
  EXPECT_STREQ(list.fault, "");
}

TEST(VisibleDevices, CpuOnlySucceeds) {
  const DeviceList list = ParseDevices("cpu");
  ASSERT_EQ(list.count, 1);
  EXPECT_EQ(list.devices[0], CpuDevice());
}

TEST(VisibleDevices, UnknownNameFails) {
  ExpectFault("tpu", "tpu");
  ExpectFault("cpu,tpu", "tpu");
  ExpectFault("CPU", "CPU");
  ExpectFault("cpu0", "cpu0");
  ExpectFault("cuda", "cuda");
  ExpectFault("cuda:", "cuda:");
  ExpectFault("cuda:x", "cuda:x");
  ExpectFault("cuda:-1", "cuda:-1");
  ExpectFault(" cpu", " cpu");
}

TEST(VisibleDevices, AbsentDeviceFails) {
  ExpectFault("cuda:99", "cuda:99");
  ExpectFault("cpu,cuda:99", "cuda:99");
  for (const std::string absent : {"cuda:99", "cuda:1000", "cuda:123456789012345678901234567890"}) {
    ExpectFault(absent.c_str(), absent);
    // The reason follows if no CUDA device is present.
    EXPECT_EQ(std::string(ParseDevices(absent.c_str()).fault)
                  .find("MLUOP_VISIBLE_DEVICES must be a device that is present"),
              0u);
  }
}

TEST(VisibleDevices, RepeatedNameFails) { ExpectFault("cpu,cpu", "cpu"); }

TEST(VisibleDevices, EmptyNameFails) {
  ExpectFault("", "");
  ExpectFault("cpu,", "");
  ExpectFault(",cpu", "");
}

TEST(VisibleDevices, LongNameIsTruncatedInTheMessage) {
  const std::string name(100000, 'x');
  const DeviceList list = ParseDevices(name.c_str());
  EXPECT_EQ(list.count, 0);
  EXPECT_LT(std::string(list.fault).size(), sizeof(list.fault));
  EXPECT_NE(std::string(list.fault).find("xxx"), std::string::npos);
}

TEST(VisibleDevices, WrongListFailsMluOpCreateWithAMessage) {
  for (const std::string wrong : {"tpu", "cuda:99", "cpu,cpu", ""}) {
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

TEST(Verbose, DefaultPrintsNothing) {
  for (const std::vector<std::string>& variables :
       {std::vector<std::string>{}, {"MLUOP_VERBOSE=0"}, {"MLUOP_VERBOSE="}}) {
    const ChildResult child = RunChild("operator", variables);
    EXPECT_EQ(child.status, 0);
    EXPECT_EQ(child.output, "0 3 0");
    EXPECT_EQ(child.errors, "");
  }
}

TEST(Verbose, Level1PrintsOneLinePerOperatorThatRan) {
  const ChildResult child = RunChild("operator", {"MLUOP_VERBOSE=1", "MLUOP_NUM_THREADS=3"});
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.output, "0 3 0");
  const std::vector<std::string> lines = Lines(child.errors);
  ASSERT_EQ(lines.size(), 1u) << child.errors;
  const Case parsed = ParseCase(lines[0]);
  EXPECT_EQ(parsed.op->spec.name, "psamask_forward");
  const std::map<std::string, double, std::less<>> values = {
      {"N", 2}, {"H", 3}, {"W", 4}, {"psa_type", 1}, {"h_mask", 3}, {"w_mask", 5}};
  EXPECT_EQ(parsed.values, values);
}

TEST(Verbose, LineHasDeviceImplementationThreadsAndTime) {
  const ChildResult child = RunChild("operator", {"MLUOP_VERBOSE=1", "MLUOP_NUM_THREADS=3"});
  const std::string comment = child.errors.substr(child.errors.find('#'));
  EXPECT_NE(comment.find("cpu"), std::string::npos) << comment;
  EXPECT_NE(comment.find(CpuDevice()->architecture()), std::string::npos) << comment;
  const Operator* const op = FindOperator("psamask_forward");
  const bool named = std::any_of(
      CpuDevice()->Implementations(op->spec).begin(), CpuDevice()->Implementations(op->spec).end(),
      [&](std::string_view name) {
        return comment.find("psamask_forward:" + std::string(name) + ",") != std::string::npos;
      });
  EXPECT_TRUE(named) << comment;
  EXPECT_NE(comment.find("3 threads"), std::string::npos) << comment;
  EXPECT_NE(comment.find(" us"), std::string::npos) << comment;
}

TEST(Verbose, Level2AddsFailures) {
  const ChildResult child = RunChild("operator", {"MLUOP_VERBOSE=2"});
  const std::vector<std::string> lines = Lines(child.errors);
  ASSERT_EQ(lines.size(), 2u) << child.errors;
  EXPECT_EQ(lines[1], "MLUOP_STATUS_BAD_PARAM: psamask_forward: psa_type must be 0 or 1, got 2");
}

TEST(Verbose, LineOfAFailedKernelEndsWithItsStatus) {
  const ChildResult child = RunChild("failing_kernel", {"MLUOP_VERBOSE=1"});
  EXPECT_EQ(child.status, MLUOP_STATUS_EXECUTION_FAILED);
  const std::vector<std::string> lines = Lines(child.errors);
  ASSERT_EQ(lines.size(), 1u) << child.errors;
  EXPECT_EQ(lines[0].find("failing N=3  # failing, none, "), 0u) << lines[0];
  const std::string end = " us, MLUOP_STATUS_EXECUTION_FAILED";
  ASSERT_GT(lines[0].size(), end.size());
  EXPECT_EQ(lines[0].substr(lines[0].size() - end.size()), end) << lines[0];
}

TEST(Verbose, LineNamesAbsentTensor) {
  const ChildResult child = RunChild("without_argmax", {"MLUOP_VERBOSE=1"});
  EXPECT_EQ(child.status, 0) << child.errors;
  EXPECT_EQ(ParseCase(child.errors).Option("argmax"), "absent") << child.errors;
}

TEST(Verbose, LineHasExactNumbersOfAnySize) {
  const ChildResult child = RunChild("large_pads", {"MLUOP_VERBOSE=1"});
  EXPECT_EQ(child.status, 0);
  const Case parsed = ParseCase(child.errors);
  EXPECT_EQ(parsed.values.at("pad_h"), double{INT32_MIN}) << child.errors;
  EXPECT_EQ(parsed.values.at("pad_w"), double{INT32_MAX}) << child.errors;
  EXPECT_EQ(parsed.dtype, MLUOP_DTYPE_HALF);
}

}  // namespace
}  // namespace mluop::testing
