// SPDX-License-Identifier: Apache-2.0
// A call's tensors in the memory of a device that is not the CPU. There are no inaccessible pages
// there: margins of known bytes on either side show a write outside.
#pragma once

#include <string>
#include <vector>

#include "testing/prepared_call.h"

namespace mluop::testing {

class Mirror {
 public:
  // Copies of all the tensors, on the current device. kFront: every tensor is an allocation of its
  // own and exactly as long, which memory checkers see to. kBack: margins around it, and aligned to
  // no more than its element. Throws std::bad_alloc.
  Mirror(const PreparedCall& call, Placement placement);
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // All bytes of the outputs and of the workspace 0xFF.
  void PoisonOutputs();
  void SetWorkspace(size_t bytes);

  // With pointers to the device's memory.
  const Arguments& arguments() const { return arguments_; }

  // On the handle's queue, without waiting.
  mluOpStatus_t Run(mluOpHandle_t handle) const {
    return call_.test_case().test->call(handle, arguments_);
  }

  // Waits, and copies the outputs to where the call has its own. "" or what was overwritten.
  std::string Fetch() const;

 private:
  struct Block {
    char* base;
    size_t margin;  // before and after the tensor
    size_t bytes;
  };
  Block Allocate(size_t bytes, size_t element) const;
  void FreeWorkspace();
  static std::vector<char> Fetched(const Block& block, std::string* overwritten);
  std::string Overwritten(size_t tensor) const;

  const PreparedCall& call_;
  Placement placement_;
  Arguments arguments_;
  std::vector<Block> blocks_;  // one per tensor
  std::vector<Block> workspace_;
};

}  // namespace mluop::testing
