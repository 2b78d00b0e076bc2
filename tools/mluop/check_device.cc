// SPDX-License-Identifier: Apache-2.0
// mluop check and mluop bitwise on a device that is not the CPU.
#include "check_device.h"

#include <cstring>
#include <memory>
#include <vector>

#include "mluops/extensions.h"
#include "testing/mirror.h"

namespace mluop::tool {
namespace {

using testing::Baseline;
using testing::Case;
using testing::Mirror;
using testing::Placement;
using testing::PreparedCall;

struct Mode {
  mluOpAtomicsMode_t value;
  const char* name;
};
constexpr Mode kModes[] = {{MLUOP_ATOMICS_NOT_ALLOWED, "atomics not allowed"},
                           {MLUOP_ATOMICS_ALLOWED, "atomics allowed"}};

// "" or what was wrong.
std::string RunOnce(Mirror& mirror, mluOpHandle_t handle) {
  mirror.PoisonOutputs();
  const mluOpStatus_t status = mirror.Run(handle);
  if (status != MLUOP_STATUS_SUCCESS) {
    return std::string(mluOpGetErrorString(status)) + ", " + mluOpGetLastErrorMessage();
  }
  return mirror.Fetch();
}

std::vector<char> OutputBytes(const PreparedCall& call) {
  std::vector<char> bytes;
  for (const testing::OutputRule& rule : call.test_case().test->outputs) {
    const TensorArgument& tensor = call.Output(rule.tensor);
    const auto* data = static_cast<const char*>(tensor.data);
    bytes.insert(bytes.end(), data, data + tensor.ByteCount());
  }
  return bytes;
}

}  // namespace

std::string CheckOnDevice(const Case& c, std::string* details) {
  PreparedCall call(c, Placement::kFront);
  const Baseline baseline(call);
  const Handle handle(0);
  const size_t wanted = call.WantedWorkspace(handle.get());
  for (const Placement placement : {Placement::kFront, Placement::kBack}) {
    Mirror mirror(call, placement);
    for (const Mode& mode : kModes) {
      mluOpSetAtomicsMode(handle.get(), mode.value);
      for (const size_t workspace :
           wanted == 0 ? std::vector<size_t>{0} : std::vector{size_t{0}, wanted}) {
        mirror.SetWorkspace(workspace);
        details->clear();
        std::string fault = RunOnce(mirror, handle.get());
        if (fault.empty()) fault = baseline.Compare(call, details);
        if (fault.empty()) continue;
        return fault + " (" + mode.name +
               (placement == Placement::kBack ? ", aligned to elements, " : ", aligned, ") +
               std::to_string(workspace) + " bytes of workspace)";
      }
    }
  }
  return "";
}

std::string BitwiseOnDevice(const Case& c) {
  constexpr int kRuns = 8;
  PreparedCall call(c, Placement::kFront);
  Mirror mirror(call, Placement::kFront);
  std::vector<char> first;
  std::unique_ptr<Handle> handle;
  for (int run = 0; run < kRuns; ++run) {
    if (run % 4 == 0) handle = std::make_unique<Handle>(0);
    const std::string fault = RunOnce(mirror, handle->get());
    if (!fault.empty()) return fault;
    if (run == 0) first = OutputBytes(call);
    if (OutputBytes(call) != first) {
      return "run " + std::to_string(run + 1) + " differs from the first";
    }
  }
  return "";
}

}  // namespace mluop::tool
