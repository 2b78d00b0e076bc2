// SPDX-License-Identifier: Apache-2.0
// A prepared call on any device: on the CPU it runs on guarded buffers, elsewhere on copies in the
// device's memory. The outputs end up in a PreparedCall either way.
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
  // On the thread's current device. `call` outlives this.
  DeviceCall(PreparedCall& call, Placement placement);

  // Runs once with a workspace of that size. Returns "" or what went wrong.
  std::string Run(mluOpHandle_t handle, size_t workspace);

  // The call that holds the outputs of the last run.
  const PreparedCall& result() const { return own_ != nullptr ? *own_ : call_; }
  // With pointers that the device can use.
  const Arguments& arguments() const {
    return mirror_ != nullptr ? mirror_->arguments() : result().arguments();
  }

 private:
  PreparedCall& call_;
  std::unique_ptr<PreparedCall> own_;  // on the CPU
  std::unique_ptr<Mirror> mirror_;     // on other devices
};

// The implementations that apply to a call on the handle's device, in order of preference. {""}, the
// default, where the call has nothing to compute.
std::vector<std::string_view> ApplicableImplementations(const Arguments& arguments,
                                                        mluOpHandle_t handle);

// While it lives, the handle runs this implementation; "" is the default choice.
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

// The bytes of all outputs, one after the other.
std::vector<char> OutputBytes(const PreparedCall& call);

}  // namespace mluop::testing
