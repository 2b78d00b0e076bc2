// SPDX-License-Identifier: Apache-2.0
// Calls made from the operators' tables: a valid one with small, distinct sizes, which a test then
// breaks.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/arguments.h"
#include "core/tensor.h"
#include "tests/support/entries.h"

namespace mluop::testing {

struct Outcome {
  mluOpStatus_t status;
  std::string sentence;  // "" where the call left none
};

class TableCall {
 public:
  explicit TableCall(const Entry& entry, mluOpDataType_t type = MLUOP_DTYPE_FLOAT);
  TableCall(const TableCall&) = delete;
  TableCall& operator=(const TableCall&) = delete;

  const OpSpec& spec() const { return *entry_.spec; }
  const TensorSpec& row(int tensor) const { return spec().tensors[tensor]; }
  mluOpTensorStruct& desc(int tensor) { return descs_[tensor]; }
  TensorArgument& tensor(int index) { return arguments.tensors[index]; }
  double& attribute(int index) { return arguments.attributes[index].number; }

  // Gives the variable, and the attributes that must equal it, a value, and every tensor the shape
  // and the place that follow.
  void Set(const Variable& variable, int64_t value);
  int64_t Get(const Variable& variable) const;
  // Changes the dims of one tensor alone; it is packed again.
  void SetDims(int tensor, std::vector<int64_t> dims);
  std::vector<int64_t> Dims(int tensor) const;
  // Puts the tensor somewhere else; an input is all zeros there too.
  void Move(int tensor, std::byte* data);
  // NULL descriptor and NULL pointer.
  void Remove(int tensor) { arguments.tensors[tensor] = {}; }

  // Makes the call, through the public C function.
  Outcome Run();
  // What the last Run() did to memory: nothing at all; or wrote every element of every output
  // present, and nothing else but perhaps the workspace.
  bool untouched() const { return memory_ == before_ && size == kPoisonedSize; }
  bool WroteOutputs() const;

  // Memory that no tensor uses: where a test may put a workspace, or a tensor at an odd place.
  std::byte* spare() { return memory_.data() + spare_; }
  static constexpr size_t kSpareBytes = size_t{64} << 10;

  mluOpHandle_t handle;
  Arguments arguments;
  size_t size = kPoisonedSize;  // what a getter writes
  size_t* size_pointer = &size;
  static constexpr size_t kPoisonedSize = 0xa5a5a5a5;

 private:
  void ChooseValues();
  void SetRelatives(int index);
  void PoisonOutputs();
  size_t OffsetOf(const void* data) const {
    return static_cast<size_t>(static_cast<const std::byte*>(data) - memory_.data());
  }
  void Reshape();
  void Place();

  const Entry& entry_;
  mluOpDataType_t type_;
  mluOpTensorStruct descs_[kMaxTensors];
  size_t spare_ = 0;
  std::vector<std::byte> memory_;  // inputs are zeros, all else is poison
  std::vector<std::byte> before_;
};

using Names = std::vector<std::string_view>;

// The call must be refused with that status, a sentence of the contract's form that opens with one
// of the arguments, and no byte written.
void ExpectRefused(TableCall& call, mluOpStatus_t status, const Names& arguments);

// The call must pass every check: SUCCESS with all outputs written or, where the device has no
// kernel for it yet, NOT_SUPPORTED saying that.
void ExpectAccepted(TableCall& call, const Entry& entry);

// The call must be SUCCESS without a byte written; a getter must write 0.
void ExpectNothingDone(TableCall& call, const Entry& entry);

class EntryTest : public ::testing::TestWithParam<Entry> {
 protected:
  const Entry& entry() const { return GetParam(); }
  const OpSpec& spec() const { return *GetParam().spec; }
  // Runs `test(call, tensor)` on a fresh call for each tensor of the table.
  template <typename Test>
  void ForEachTensor(Test test) {
    for (int t = 0; t < spec().tensor_count; ++t) {
      SCOPED_TRACE(spec().tensors[t].name);
      TableCall call(entry());
      test(call, t);
    }
  }
};

}  // namespace mluop::testing
