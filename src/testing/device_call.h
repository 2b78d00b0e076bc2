// SPDX-License-Identifier: Apache-2.0
// A prepared call on any device. On the CPU it runs on guarded buffers, on other devices on copies
// in device memory. In both cases the outputs are returned in a PreparedCall.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "testing/mirror.h"
#include "testing/prepared_call.h"

namespace mluop::testing {

class DeviceCall {
 public:
  // Uses the thread's current device. `call` must outlive this object.
  DeviceCall(PreparedCall& call, Placement placement);

  // Runs once with a workspace of that size. Returns "" or an error message.
  std::string Run(mluOpHandle_t handle, size_t workspace);

  // The call that holds the outputs of the last run.
  const PreparedCall& result() const { return own_ != nullptr ? *own_ : call_; }
  // The arguments, with pointers for the device.
  const Arguments& arguments() const {
    return mirror_ != nullptr ? mirror_->arguments() : result().arguments();
  }

 private:
  PreparedCall& call_;
  std::unique_ptr<PreparedCall> own_;  // on the CPU
  std::unique_ptr<Mirror> mirror_;     // on other devices
};

// Returns the implementations that apply to a call on the handle's device, in order of preference.
// Returns {""}, the default, if the call has nothing to compute.
std::vector<std::string_view> ApplicableImplementations(const Arguments& arguments,
                                                        mluOpHandle_t handle);

// Forces the handle to run this implementation until the destructor; "" is the default choice.
class ForcedImplementation {
 public:
  ForcedImplementation(mluOpHandle_t handle, std::string_view name);
  ~ForcedImplementation();
  ForcedImplementation(const ForcedImplementation&) = delete;
  ForcedImplementation& operator=(const ForcedImplementation&) = delete;

 private:
  mluOpHandle_t handle_;
  std::string_view before_;
};

// Returns the bytes of all outputs, one after the other.
std::vector<char> OutputBytes(const PreparedCall& call);

}  // namespace mluop::testing
