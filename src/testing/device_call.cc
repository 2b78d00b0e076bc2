// SPDX-License-Identifier: Apache-2.0
#include "testing/device_call.h"

#include "core/checks.h"
#include "core/handle.h"
#include "core/implementation.h"
#include "mluops/extensions.h"

namespace mluop::testing {

DeviceCall::DeviceCall(PreparedCall& call, Placement placement) : call_(call) {
  if (CurrentDevice("DeviceCall") == CpuDevice()) {
    own_ = std::make_unique<PreparedCall>(call, placement);
  } else {
    mirror_ = std::make_unique<Mirror>(call, placement);
  }
}

std::string DeviceCall::Run(mluOpHandle_t handle, size_t workspace) {
  mluOpStatus_t status;
  if (own_ != nullptr) {
    own_->SetWorkspace(workspace);
    own_->PoisonOutputs();
    status = own_->Run(handle);
  } else {
    mirror_->SetWorkspace(workspace);
    mirror_->PoisonOutputs();
    status = mirror_->Run(handle);
  }
  if (status != MLUOP_STATUS_SUCCESS) {
    return std::string(mluOpGetErrorString(status)) + ", " + mluOpGetLastErrorMessage();
  }
  return mirror_ == nullptr ? "" : mirror_->Fetch();
}

std::vector<std::string_view> ApplicableImplementations(const Arguments& arguments,
                                                        mluOpHandle_t handle) {
  Arguments copy = arguments;
  const TensorSpec* empty = nullptr;
  if (Validate(copy, &empty) != MLUOP_STATUS_SUCCESS || empty != nullptr) return {""};
  std::vector<std::string_view> names;
  for (const ImplementationInfo& info : handle->device->Implementations(*arguments.spec)) {
    const ForcedImplementation forced(handle, info.name);
    Plan plan;
    if (handle->device->MakePlan(copy, *handle, &plan) == MLUOP_STATUS_SUCCESS) {
      names.push_back(info.name);
    }
  }
  return names;
}

ForcedImplementation::ForcedImplementation(mluOpHandle_t handle, std::string_view name)
    : handle_(handle), before_(handle->implementation) {
  handle_->implementation = name;
}

ForcedImplementation::~ForcedImplementation() { handle_->implementation = before_; }

std::vector<char> OutputBytes(const PreparedCall& call) {
  std::vector<char> bytes;
  for (const OutputRule& rule : call.test_case().test->outputs) {
    const TensorArgument& tensor = call.Output(rule.tensor);
    const auto* data = static_cast<const char*>(tensor.data);
    bytes.insert(bytes.end(), data, data + tensor.ByteCount());
  }
  return bytes;
}

}  // namespace mluop::testing
