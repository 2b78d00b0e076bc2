// SPDX-License-Identifier: Apache-2.0
// mluop check: compares every implementation that applies to a case with the reference. With
// --coverage: checks that the cases choose every implementation.
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "commands.h"
#include "core/handle.h"
#include "core/implementation.h"
#include "mluops/extensions.h"
#include "testing/device_call.h"
#include "testing/isa.h"

namespace mluop::tool {
namespace {

using testing::ApplicableImplementations;
using testing::Baseline;
using testing::Case;
using testing::DeviceCall;
using testing::ForcedImplementation;
using testing::Placement;
using testing::PreparedCall;

// The conditions of one run of a case.
struct Setting {
  std::string isa;  // of the CPU; empty on other devices
  Placement placement;
  mluOpAtomicsMode_t atomics;
  size_t workspace;
  std::string_view implementation;  // empty: the call is refused, or has nothing to compute

  std::string Text() const {
    std::string text = implementation.empty() ? "" : std::string(implementation) + ", ";
    text += isa;
    if (isa.empty()) text += atomics == MLUOP_ATOMICS_ALLOWED ? "atomics allowed" : "default mode";
    text += placement == Placement::kBack ? ", buffers at the end of their pages, "
                                          : ", buffers at the start of their pages, ";
    return text + std::to_string(workspace) + " bytes of workspace";
  }
};

class CheckedCase {
 public:
  CheckedCase(const Case& c, const Selection& selection, const std::vector<std::string>& isas)
      : call_(c, Placement::kFront), baseline_(call_), handle_(selection.threads), isas_(isas) {}

  // Runs once, as a call with default settings: the default implementation in the default mode, on
  // the instruction set in use.
  CaseResult RunDefault() {
    DeviceCall call(call_, Placement::kBack);
    Setting setting = {"", Placement::kBack, MLUOP_ATOMICS_NOT_ALLOWED, 0, ""};
    setting.workspace = call_.WantedWorkspace(handle_.get());
    if (ApplicableImplementations(call.arguments(), handle_.get()).empty()) return result_;
    setting.implementation = PlanOf(call.arguments(), handle_.get()).implementation;
    result_.error = RunOnce(call, setting);
    return result_;
  }

  // Stops at the first failure.
  CaseResult RunAll() {
    result_.error = RunPlacements();
    return result_;
  }

 private:
  std::string RunPlacements() {
    const bool on_cpu = handle_.get()->device == CpuDevice();
    for (const Placement placement : {Placement::kFront, Placement::kBack}) {
      DeviceCall call(call_, placement);
      for (const std::string& isa : on_cpu ? isas_ : std::vector<std::string>{""}) {
        if (on_cpu) testing::ForceIsa(isa);
        for (const auto mode : {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED}) {
          if (on_cpu && mode == MLUOP_ATOMICS_ALLOWED) continue;  // both modes are the same there
          mluOpSetAtomicsMode(handle_.get(), mode);
          std::string error = RunImplementations(call, {isa, placement, mode, 0, ""});
          if (!error.empty()) return error;
        }
      }
    }
    return "";
  }

  std::string RunImplementations(DeviceCall& call, Setting setting) {
    const size_t wanted = call_.WantedWorkspace(handle_.get());
    for (const auto name : ApplicableImplementations(call.arguments(), handle_.get())) {
      const ForcedImplementation forced(handle_.get(), name);
      setting.implementation = name;
      for (const size_t workspace : std::set<size_t>{0, wanted}) {
        setting.workspace = workspace;
        const std::string error = RunOnce(call, setting);
        if (!error.empty()) return error + " (" + setting.Text() + ")";
      }
    }
    return "";
  }

  std::string RunOnce(DeviceCall& call, const Setting& setting) {
    ++result_.runs;
    ++result_.isas[setting.isa];
    ++result_.implementations[std::string(setting.implementation)];
    std::string error = call.Run(handle_.get(), setting.workspace);
    if (!error.empty()) return error;
    result_.details.clear();
    return baseline_.Compare(call.result(), &result_.details, &result_.comparisons);
  }

  PreparedCall call_;
  Baseline baseline_;
  Handle handle_;
  const std::vector<std::string>& isas_;
  CaseResult result_;
};

// Returns the implementations that the cases choose by default, as "operator:name".
std::set<std::string> ChosenByDefault(const std::vector<Case>& cases) {
  std::set<std::string> chosen;
  for (size_t i = 0; i < cases.size(); ++i) {
    ShowProgress(i, cases.size(), cases[i]);
    PreparedCall call(cases[i], Placement::kFront);
    for (const Placement placement : {Placement::kFront, Placement::kBack}) {
      const DeviceCall placed(call, placement);
      for (const int threads : {1, 2, 16}) {
        const Handle handle(threads);
        for (const auto mode : {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED}) {
          mluOpSetAtomicsMode(handle.get(), mode);
          const Plan plan = PlanOf(placed.arguments(), handle.get());
          chosen.insert(std::string(cases[i].test->name) + ":" + std::string(plan.implementation));
        }
      }
    }
  }
  EndProgress();
  return chosen;
}

}  // namespace

Plan PlanOf(const Arguments& arguments, mluOpHandle_t handle) {
  Plan plan;
  const auto names = ApplicableImplementations(arguments, handle);
  if (names.empty() || names.front().empty()) return plan;
  if (handle->device->MakePlan(arguments, *handle, &plan) != MLUOP_STATUS_SUCCESS) return {};
  return plan;
}

CaseResult CheckCase(const Case& c, const Selection& selection,
                     const std::vector<std::string>& isas, bool quick) {
  CheckedCase checked(c, selection, isas);
  return quick ? checked.RunDefault() : checked.RunAll();
}

Score CheckCases(const Selection& selection, bool quick) {
  const std::vector<Case> cases = SelectCases(selection);
  const std::vector<std::string> isas = SelectIsas(selection, testing::SupportedIsas());
  const Device* const device = UseDevice(selection);
  InstallFaultHandler("check", selection);
  Score score("check", selection);
  for (size_t i = 0; i < cases.size(); ++i) {
    ShowProgress(i, cases.size(), cases[i]);
    const CaseResult result = CheckCase(cases[i], selection, isas, quick);
    if (result.runs == 0 && result.error.empty()) {
      score.Refuse(cases[i], *device);
      continue;
    }
    score.Add(cases[i], result.error);
    if (result.error.empty() && selection.verbose) {
      std::printf("ok   %s %s\n", cases[i].line.c_str(), result.details.c_str());
    }
  }
  EndProgress();
  return score;
}

int Check(const Selection& selection, Row* document) {
  const Score score = CheckCases(selection, /*quick=*/false);
  *document = score.Document();
  return score.Print();
}

int Coverage(const Selection& selection, Row* document) {
  const std::vector<Case> cases = SelectCases(selection);
  const Device* const device = UseDevice(selection);
  const std::set<std::string> chosen = ChosenByDefault(cases);
  std::set<const Operator*> operators;
  for (const Case& c : cases) operators.insert(c.op);
  Score score("check --coverage", selection);
  Row implementations = Row::array();
  for (const Operator* op : operators) {
    for (const ImplementationInfo& info : device->Implementations(op->spec)) {
      const std::string full = std::string(op->spec.name) + ":" + std::string(info.name);
      const bool found = chosen.count(full) > 0;
      // Calls beyond the built-in cases choose these; docs/decisions/0017 names their tests.
      const bool passed = found || info.beyond_32_bits;
      const char* const text = found ? "chosen      " : passed ? "beyond 2^31 " : "never chosen";
      std::printf("%s %s\n", text, full.c_str());
      ++(passed ? score.passed : score.failed);
      implementations.push_back(
          {{"name", full}, {"chosen", found}, {"beyond_32_bits", info.beyond_32_bits}});
    }
  }
  *document = {{"device", selection.device},
               {"passed", score.passed},
               {"failed", score.failed},
               {"implementations", implementations}};
  return score.Print();
}

}  // namespace mluop::tool
