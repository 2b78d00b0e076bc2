// SPDX-License-Identifier: Apache-2.0
// Calls built from the operators' tables. Each starts valid, with small, distinct sizes; a test
// breaks one rule and calls.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/arguments.h"
#include "core/tensor.h"
#include "tests/support/entries.h"
#include "tests/support/tensors.h"

namespace mluop::testing {

struct Outcome {
  mluOpStatus_t status;
  std::string message;  // "" if the call left none
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

  // Sets the variable and the attributes that must equal it, then reshapes and places every tensor.
  void Set(const Variable& variable, int64_t value);
  int64_t Get(const Variable& variable) const;
  // Changes the dims of one tensor only, and packs it.
  void SetDims(int tensor, std::vector<int64_t> dims);
  std::vector<int64_t> Dims(int tensor) const;
  // Moves the tensor to `data`; an input is filled with zeros there.
  void Move(int tensor, std::byte* data);
  // Sets descriptor and pointer to NULL.
  void Remove(int tensor) { arguments.tensors[tensor] = {}; }

  // Calls the public C function.
  Outcome Run();
  // Returns true if the last Run() wrote nothing.
  bool untouched() const { return memory_ == before_ && size == kPoisonedSize; }
  // Returns true if the last Run() wrote every element of every output, and nothing else but the
  // workspace.
  bool WroteOutputs() const;

  // Memory that no tensor uses, for a workspace or a misplaced tensor.
  std::byte* spare() { return memory_.data() + spare_; }
  static constexpr size_t kSpareBytes = size_t{64} << 10;

  mluOpHandle_t handle;  // passed to the call
  Arguments arguments;
  size_t size = kPoisonedSize;  // written by a getter
  size_t* size_pointer = &size;
  static constexpr size_t kPoisonedSize = 0xa5a5a5a5;

 private:
  void ChooseValues();
  void SetRelatedAttributes(int index);
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
  std::vector<std::byte> memory_;  // inputs are zeros, the rest is poison
  std::vector<std::byte> before_;
};

using Names = std::vector<std::string>;

// The call must return `status` and write no byte. Its message must be "<op>: <argument> must
// <rule>, got <value>", with one of `arguments`, and with `value` unless that is empty.
void ExpectRejected(TableCall& call, mluOpStatus_t status, const Names& arguments,
                    const std::string& value = "");

// The call must return SUCCESS and write all outputs, or a getter its size.
void ExpectAccepted(TableCall& call, const Entry& entry);

// The call must return SUCCESS without writing a byte; a getter must write 0.
void ExpectNothingDone(TableCall& call, const Entry& entry);

// "y" and 3: "y.shape[3]".
inline std::string Shape(const TensorSpec& row, int dim) {
  return std::string(row.name) + ".shape[" + std::to_string(dim) + "]";
}
inline std::string Stride(const TensorSpec& row, int dim) {
  return std::string(row.name) + ".stride[" + std::to_string(dim) + "]";
}

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
