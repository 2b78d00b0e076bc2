// SPDX-License-Identifier: Apache-2.0
// Copies of a call's tensors in the memory of a device other than the CPU, where pages cannot be
// made inaccessible. Margins of known bytes on either side detect writes out of bounds.
#pragma once

#include <string>
#include <vector>

#include "testing/prepared_call.h"

namespace mluop::testing {

class Mirror {
 public:
  // Copies all tensors to the current device. kFront: every tensor is a separate allocation of its
  // exact size, which memory checkers can guard. kBack: every tensor has margins, and is aligned to
  // its element size only. Throws std::bad_alloc.
  Mirror(const PreparedCall& call, Placement placement);
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // Fills the outputs and the workspace with 0xFF.
  void PoisonOutputs();
  void SetWorkspace(size_t bytes);

  // The arguments, with pointers to device memory.
  const Arguments& arguments() const { return arguments_; }

  // Runs the call on the handle's queue, without waiting.
  mluOpStatus_t Run(mluOpHandle_t handle) const {
    return CallCase(call_.test_case(), handle, arguments_);
  }

  // Waits, and copies the outputs to the outputs of `call`. Returns "" or what was overwritten.
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
