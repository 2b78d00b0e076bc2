// SPDX-License-Identifier: Apache-2.0
// One call of an operator: its table and the caller's arguments. Kernels, references and the driver
// read calls through this class.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "core/spec.h"
#include "core/tensor.h"

namespace mluop {

// The value of an attribute. A double represents int and float exactly.
struct Value {
  double number = 0;
  constexpr Value() = default;
  constexpr Value(int value) : number(value) {}    // NOLINT(google-explicit-constructor)
  constexpr Value(float value) : number(value) {}  // NOLINT(google-explicit-constructor)
};

struct TensorArgument {
  const mluOpTensorStruct* desc = nullptr;
  void* data = nullptr;

  TensorArgument() = default;
  // Without a pointer: an argument of a getter.
  TensorArgument(const mluOpTensorStruct* descriptor,  // NOLINT(google-explicit-constructor)
                 const void* pointer = nullptr)
      : desc(descriptor), data(const_cast<void*>(pointer)) {}

  size_t ByteCount() const;  // 0 without a descriptor
};

struct Workspace {
  void* data = nullptr;
  size_t size = 0;
};

struct Arguments {
  const OpSpec* spec;
  Value attributes[kMaxAttributes];
  TensorArgument tensors[kMaxTensors];
  int64_t symbols[kMaxSymbols] = {};  // filled by validation
  Workspace workspace;
  bool double_allowed = false;  // T may be double; the handle determines it

  explicit Arguments(const OpSpec& op_spec) : spec(&op_spec) {}
  Arguments(const OpSpec& op_spec, std::initializer_list<Value> attribute_values,
            std::initializer_list<TensorArgument> tensor_values, Workspace work = {})
      : spec(&op_spec), workspace(work) {
    std::copy(attribute_values.begin(), attribute_values.end(), attributes);
    std::copy(tensor_values.begin(), tensor_values.end(), tensors);
  }

  int Int(std::string_view name) const {
    return static_cast<int>(attributes[spec->AttributeIndex(name)].number);
  }
  float Float(std::string_view name) const {
    return static_cast<float>(attributes[spec->AttributeIndex(name)].number);
  }
  int64_t Symbol(std::string_view name) const { return symbols[spec->SymbolIndex(name)]; }
  const TensorArgument& Tensor(std::string_view name) const {
    return tensors[spec->TensorIndex(name)];
  }
  template <typename T>
  const T* In(std::string_view name) const {
    return static_cast<const T*>(Tensor(name).data);
  }
  template <typename T>
  T* Out(std::string_view name) const {
    return static_cast<T*>(Tensor(name).data);
  }

  // Returns the type T of this call. Every table has a tensor of type T that is never absent.
  mluOpDataType_t Type() const {
    int i = 0;
    while (spec->tensors[i].type != kT) ++i;
    return tensors[i].desc->dtype;
  }
};

// Returns the value of a dim, INT64_MAX on overflow. All attributes and symbols must be known.
int64_t Evaluate(const Arguments& call, const DimSpec& dim);

// Writes the call as a case line of the driver, "transpose N=1 A=4 B=3 dtype=float", with
// "argmax=absent" for an absent tensor. Truncates to size-1 and returns the length.
int FormatCase(const Arguments& arguments, char* text, size_t size);

}  // namespace mluop
