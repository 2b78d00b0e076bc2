// SPDX-License-Identifier: Apache-2.0
// mluop bitwise: one input, one answer. Compares bits across threads, instruction sets,
// implementations, workspaces, alignments and repeated runs. In the forward directions it also
// compares each RoI, box or mask alone.
#include <set>
#include <string>
#include <vector>

#include "commands.h"
#include "core/handle.h"
#include "core/implementation.h"
#include "mluops/extensions.h"
#include "testing/device_call.h"
#include "testing/isa.h"
#include "testing/single_item.h"

namespace mluop::tool {
namespace {

using testing::ApplicableImplementations;
using testing::Case;
using testing::DeviceCall;
using testing::ForcedImplementation;
using testing::Placement;
using testing::PreparedCall;
using testing::SingleItem;

constexpr int kThreads[] = {2, 1, 3, 7, 16};  // all run on the first instruction set
constexpr int64_t kItems = 6;                 // at most this number of items run alone
// Larger cases run on up to four instruction sets (FewIsas), with 2 and 7 threads, and with two items
// alone.
constexpr size_t kLargeBytes = size_t{4} << 20;

// Returns the instruction sets of a large case: the first and the last, and AVX2 and SSE4, whose
// partial vectors have no masked access.
std::vector<std::string> FewIsas(const std::vector<std::string>& all) {
  std::vector<std::string> few;
  for (const std::string& isa : all) {
    if (isa == all.front() || isa == all.back() || isa == "AVX2" || isa == "SSE4") {
      few.push_back(isa);
    }
  }
  return few;
}

class BitwiseCase {
 public:
  BitwiseCase(const Case& c, const std::vector<std::string>& isas)
      : case_(c), call_(c, Placement::kFront) {
    size_t bytes = 0;
    for (int i = 0; i < c.op->spec.tensor_count; ++i) {
      bytes += call_.arguments().tensors[i].ByteCount();
    }
    large_ = bytes > kLargeBytes;
    isas_ = large_ ? FewIsas(isas) : isas;
    if (CurrentDevice("bitwise") != CpuDevice()) isas_ = {""};
  }

  // Returns "" or the first difference.
  std::string Run() {
    std::string error;
    DeviceCall front(call_, Placement::kFront), back(call_, Placement::kBack);
    for (size_t isa = 0; isa < isas_.size() && error.empty(); ++isa) {
      Use(isas_[isa]);
      for (const int threads : kThreads) {
        const bool wanted = threads == 2 || (isa == 0 && (!large_ || threads == 7));
        if (error.empty() && wanted) error = RunAll(front, threads);
      }
      if (error.empty() && (isa == 0 || !large_)) error = RunAll(back, 2);
    }
    for (const std::string& isa : std::set<std::string>{isas_.front(), isas_.back()}) {
      Use(isa);
      if (error.empty()) error = RunItemsAlone();
    }
    Use(isas_.front());
    return error;
  }

 private:
  void Use(const std::string& isa) {
    isa_name_ = isa;
    if (!isa.empty()) testing::ForceIsa(isa);
  }

  // Runs every implementation that applies, with and without a workspace. Large cases have one only
  // on the first instruction set.
  std::string RunAll(DeviceCall& call, int threads) {
    const Handle handle(threads);
    for (const auto name : ApplicableImplementations(call.arguments(), handle.get())) {
      const ForcedImplementation forced(handle.get(), name);
      std::vector<size_t> workspaces = {0, call_.WantedWorkspace(handle.get())};
      if (large_ && isa_name_ != isas_.front()) workspaces.pop_back();
      for (const size_t workspace : workspaces) {
        const std::string error = call.Run(handle.get(), workspace);
        if (!error.empty()) return error + SettingText(name, threads, workspace);
        std::vector<char> bytes = OutputBytes(call.result());
        if (expected_.empty()) {
          expected_ = std::move(bytes);
          first_setting_ = SettingText(name, threads, workspace);
        } else if (bytes != expected_) {
          return "differs" + SettingText(name, threads, workspace) + " from the result" +
                 first_setting_;
        }
      }
    }
    return "";
  }

  std::string RunItemsAlone() {
    const int64_t count = testing::ItemCount(case_);
    if (count < 2 || expected_.empty()) return "";
    std::set<int64_t> items;
    const int64_t wanted = large_ ? 2 : kItems;
    for (int64_t i = 0; i < wanted; ++i) items.insert((count - 1) * i / (wanted - 1));
    for (const int64_t item : items) {
      SingleItem alone(call_, item);
      DeviceCall call(alone.call(), Placement::kFront);
      const std::vector<char> expected_item = alone.ItemOutputs(expected_);
      const Handle handle(2);
      for (const auto name : ApplicableImplementations(call.arguments(), handle.get())) {
        const ForcedImplementation forced(handle.get(), name);
        const std::string error = call.Run(handle.get(), 0);
        const std::string which =
            " of " + std::string(case_.op->item) + "[" + std::to_string(item) + "]";
        if (!error.empty()) return error + SettingText(name, 2, 0) + which + " alone";
        if (OutputBytes(call.result()) != expected_item) {
          return "the result" + which + " computed alone" + SettingText(name, 2, 0) +
                 " differs from the full call" + first_setting_;
        }
      }
    }
    return "";
  }

  std::string SettingText(std::string_view name, int threads, size_t workspace) const {
    std::string text = " (";
    // A refused call, or one with nothing to compute, has no implementation.
    for (const std::string& part : {std::string(name), isa_name_}) {
      if (!part.empty()) text += part + ", ";
    }
    return text + std::to_string(threads) + " threads, " + std::to_string(workspace) +
           " bytes of workspace)";
  }

  const Case& case_;
  std::vector<std::string> isas_;  // {""} on other devices than the CPU
  PreparedCall call_;
  bool large_ = false;
  std::string isa_name_, first_setting_;
  std::vector<char> expected_;
};

}  // namespace

std::string BitwiseError(const Case& c, const std::vector<std::string>& isas) {
  return BitwiseCase(c, isas).Run();
}

int Bitwise(const Selection& selection, Row* document) {
  const std::vector<Case> cases = SelectCases(selection);
  const std::vector<std::string> isas = SelectIsas(selection, testing::SupportedIsas());
  const Device* const device = UseDevice(selection);
  InstallFaultHandler("bitwise", selection);
  Score score("bitwise", selection);
  for (size_t i = 0; i < cases.size(); ++i) {
    ShowProgress(i, cases.size(), cases[i]);
    PreparedCall call(cases[i], Placement::kFront);
    const DeviceCall placed(call, Placement::kFront);
    const Handle handle(2);
    if (ApplicableImplementations(placed.arguments(), handle.get()).empty()) {
      score.Refuse(cases[i], *device);
    } else if (PlanOf(placed.arguments(), handle.get()).free_order) {
      score.Skip(cases[i], "without a fixed order of sums", "the implementation adds by atomics");
    } else {
      score.Add(cases[i], BitwiseError(cases[i], isas));
    }
  }
  EndProgress();
  *document = score.Document();
  return score.Print();
}

}  // namespace mluop::tool
