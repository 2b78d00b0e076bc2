// SPDX-License-Identifier: Apache-2.0
// Calls built from the operators' tables. Each starts valid, with small, distinct sizes; a test
// breaks one rule and runs it. The tensors are in host memory: on another device only a call that
// is refused may run.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/arguments.h"
#include "core/tensor.h"
#include "testing/entries.h"

namespace mluop::testing {

struct Outcome {
  mluOpStatus_t status;
  std::string message;  // "" if the call set none
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
  // Returns whether the last Run() wrote nothing.
  bool untouched() const { return memory_ == before_ && size == kPoisonedSize; }
  // Returns whether the last Run() wrote every element of every output, and no memory outside the
  // outputs and the workspace.
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
  std::vector<std::byte> memory_;  // inputs are zeros, the rest is poison
  std::vector<std::byte> before_;
};

// "y" and 3: "y.shape[3]".
inline std::string Shape(const TensorSpec& row, int dim) {
  return std::string(row.name) + ".shape[" + std::to_string(dim) + "]";
}
inline std::string Stride(const TensorSpec& row, int dim) {
  return std::string(row.name) + ".stride[" + std::to_string(dim) + "]";
}

}  // namespace mluop::testing
