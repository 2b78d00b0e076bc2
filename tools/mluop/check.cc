// SPDX-License-Identifier: Apache-2.0
// mluop check and mluop bitwise: is it right, and is it the same whatever the number of threads?
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "check_device.h"
#include "commands.h"
#include "mluops/extensions.h"
#include "testing/isa.h"
#include "testing/prepared_call.h"

namespace mluop::tool {
namespace {

using testing::Baseline;
using testing::Case;
using testing::Placement;
using testing::PreparedCall;

struct Score {
  int passed = 0;
  int failed = 0;

  int Print() const {
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
  }
};

void PrintFailure(const char* command, const Case& c, const std::string& options,
                  const std::string& fault) {
  EndProgress();
  std::printf("FAIL %s: %s\n  repeat: mluop %s%s '%s'\n", std::string(c.test->name).c_str(),
              fault.c_str(), command, options.c_str(), c.line.c_str());
  std::fflush(stdout);
}

// One run with one workspace; "" or what was wrong.
std::string RunOnce(PreparedCall& call, const Baseline& baseline, mluOpHandle_t handle,
                    size_t workspace, std::string* details) {
  call.SetWorkspace(workspace);
  call.PoisonOutputs();
  const mluOpStatus_t status = call.Run(handle);
  if (status != MLUOP_STATUS_SUCCESS) {
    return std::string(mluOpGetErrorString(status)) + ", " + mluOpGetLastErrorMessage();
  }
  return baseline.Compare(call, details);
}

bool CheckCase(const Case& c, const std::vector<std::string>& isas, const Selection& selection) {
  PreparedCall front(c, Placement::kFront);
  const Baseline baseline(front);
  PreparedCall back(front, Placement::kBack);
  const Handle handle(selection.threads);
  std::string details;
  for (const std::string& isa : isas) {
    testing::ForceIsa(isa);
    for (PreparedCall* call : {&front, &back}) {
      const size_t wanted = call->WantedWorkspace(handle.get());
      for (const size_t workspace :
           wanted == 0 ? std::vector<size_t>{0} : std::vector{size_t{0}, wanted}) {
        details.clear();
        const std::string fault = RunOnce(*call, baseline, handle.get(), workspace, &details);
        if (fault.empty()) continue;
        PrintFailure("check", c, " --isa " + isa,
                     fault + " (" + isa + (call == &back ? ", end" : ", start") +
                         " of its pages, " + std::to_string(workspace) + " bytes of workspace)");
        return false;
      }
    }
  }
  if (selection.verbose) std::printf("ok   %s %s\n", c.line.c_str(), details.c_str());
  return true;
}

bool CheckCaseOnDevice(const Case& c, const Selection& selection) {
  std::string details;
  const std::string fault = CheckOnDevice(c, &details);
  if (!fault.empty()) PrintFailure("check", c, " --device " + selection.device, fault);
  if (fault.empty() && selection.verbose)
    std::printf("ok   %s %s\n", c.line.c_str(), details.c_str());
  return fault.empty();
}

bool BitwiseCaseOnDevice(const Case& c, const Selection& selection) {
  const std::string fault = BitwiseOnDevice(c);
  if (!fault.empty()) PrintFailure("bitwise", c, " --device " + selection.device, fault);
  return fault.empty();
}

using Outputs = std::vector<std::vector<char>>;

Outputs CopyOutputs(const PreparedCall& call) {
  Outputs outputs;
  for (const testing::OutputRule& rule : call.test_case().test->outputs) {
    const TensorArgument& tensor = call.Output(rule.tensor);
    const auto* data = static_cast<const char*>(tensor.data);
    outputs.emplace_back(data, data + tensor.ByteCount());
  }
  return outputs;
}

bool SameOutputs(const PreparedCall& call, const Outputs& expected) {
  size_t i = 0;
  for (const testing::OutputRule& rule : call.test_case().test->outputs) {
    const std::vector<char>& bytes = expected[i++];
    if (bytes.empty()) continue;
    if (std::memcmp(call.Output(rule.tensor).data, bytes.data(), bytes.size()) != 0) return false;
  }
  return true;
}

bool BitwiseCase(const Case& c, const std::string& isa) {
  PreparedCall call(c, Placement::kFront);
  Outputs first;
  for (const int threads : {1, 2, 3, 7, 16}) {
    const Handle handle(threads);
    for (const int repetition : {0, 1}) {
      call.PoisonOutputs();
      if (call.Run(handle.get()) != MLUOP_STATUS_SUCCESS) {
        PrintFailure("bitwise", c, " --isa " + isa, mluOpGetLastErrorMessage());
        return false;
      }
      if (threads == 1 && repetition == 0) first = CopyOutputs(call);
      if (SameOutputs(call, first)) continue;
      PrintFailure("bitwise", c, " --isa " + isa,
                   "run " + std::to_string(repetition + 1) + " with " + std::to_string(threads) +
                       " threads differs from the first run with 1 thread");
      return false;
    }
  }
  return true;
}

}  // namespace

int Check(const Selection& selection) {
  const std::vector<Case> cases = SelectCases(selection);
  const std::vector<std::string> isas = SelectIsas(selection, testing::SupportedIsas());
  InstallFaultHandler("check");
  const bool on_cpu = UseDevice(selection) == CpuDevice();
  Score score;
  for (size_t i = 0; i < cases.size(); ++i) {
    ShowProgress(i, cases.size(), cases[i].line);
    ++((on_cpu ? CheckCase(cases[i], isas, selection) : CheckCaseOnDevice(cases[i], selection))
           ? score.passed
           : score.failed);
  }
  EndProgress();
  return score.Print();
}

int Bitwise(const Selection& selection) {
  const std::vector<Case> cases = SelectCases(selection);
  const std::vector<std::string> isas = SelectIsas(selection, {testing::SupportedIsas().front()});
  InstallFaultHandler("bitwise");
  const bool on_cpu = UseDevice(selection) == CpuDevice();
  testing::ForceIsa(isas.front());
  Score score;
  for (size_t i = 0; i < cases.size(); ++i) {
    ShowProgress(i, cases.size(), cases[i].line);
    ++((on_cpu ? BitwiseCase(cases[i], isas.front()) : BitwiseCaseOnDevice(cases[i], selection))
           ? score.passed
           : score.failed);
  }
  EndProgress();
  return score.Print();
}

}  // namespace mluop::tool
