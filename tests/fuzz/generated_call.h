// SPDX-License-Identifier: Apache-2.0
// Turns bytes into a call: a small valid problem of an operator's table, with a few changes in half of the calls.
#pragma once

#include <optional>
#include <vector>

#include "core/arguments.h"
#include "tests/fuzz/block.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/descriptor_contents.h"
#include "tests/fuzz/entry_point.h"

namespace mluop::fuzz {

struct GeneratedCall {
  GeneratedCall(const EntryPoint& entry_point, mluOpHandle_t some_handle, Bytes& bytes);
  ~GeneratedCall();
  GeneratedCall(const GeneratedCall&) = delete;
  GeneratedCall& operator=(const GeneratedCall&) = delete;

  const EntryPoint& entry;
  const OpSpec& spec;
  mluOpHandle_t handle;
  Arguments arguments;
  // One block per tensor, even if the pointer is NULL or that of another tensor.
  std::vector<Block> blocks;
  // A tensor is larger than its block, or a loop is longer than a test may take.
  bool too_much_work = false;
  bool small_range = false;  // of all inputs

 private:
  void MakeValid();
  Value ValidAttribute(const AttributeSpec& row);
  void MakeDescriptor(int i, mluOpDataType_t type);
  void ChangeDescriptorOrAttribute();
  void ChangeAttribute(int i);
  void ChangeDescriptor(mluOpTensorDescriptor_t desc);
  void AllocateTensors();
  void AllocateWorkspace();
  void ChangePointer();
  bool IsTooMuchWork() const;

  Bytes& bytes_;
  mluOpTensorDescriptor_t descs_[kMaxTensors] = {};
  std::optional<Block> workspace_;
};

}  // namespace mluop::fuzz
