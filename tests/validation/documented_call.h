// SPDX-License-Identifier: Apache-2.0
// Valid calls of the public functions, written by hand from the design documents and the contract.
// They are independent of the operators' tables, so a wrong row of a table fails here. A test
// changes one thing and calls. document_<family>_test.cc has the calls of each document.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/tensors.h"

namespace mluop::testing {

constexpr mluOpDataType_t kInt32 = MLUOP_DTYPE_INT32;
constexpr int kPoison = 0x5a;

enum class Layout { kAny, kNhwc, kNchw };

// The rules of a document for a tensor.
struct TensorRule {
  const char* name;
  Tensor* tensor;
  Layout layout;
  std::string free_dims = {};  // "12": any size of dims 1 and 2 is valid
  bool is_output = false;
  bool may_be_null = false;  // the descriptor
};

// The rules for an attribute: an int in [min, max], or a positive finite float.
struct AttributeRule {
  const char* name;
  int* integer;  // NULL for a float
  float* real;
  int min;
  int max;
  bool fixed;  // by a shape or by another attribute
};
inline AttributeRule FixedSize(const char* name, int* value, int min = 1) {
  return {name, value, nullptr, min, INT32_MAX, true};
}
inline AttributeRule FreeInteger(const char* name, int* value, int min, int max = INT32_MAX) {
  return {name, value, nullptr, min, max, false};
}
inline AttributeRule PositiveReal(const char* name, float* value) {
  return {name, nullptr, value, 0, 0, false};
}

class DocumentedCall {
 public:
  DocumentedCall() = default;
  virtual ~DocumentedCall() = default;
  DocumentedCall(const DocumentedCall&) = delete;
  DocumentedCall& operator=(const DocumentedCall&) = delete;

  virtual std::vector<TensorRule> Tensors() = 0;
  virtual std::vector<AttributeRule> Attributes() { return {}; }
  virtual bool takes_half() const { return true; }
  virtual bool is_getter() const { return false; }
  // Calls the public C function.
  virtual mluOpStatus_t Call() = 0;

  std::set<std::string> null;         // arguments passed as NULL: "handle", "input_desc", "input"
  std::map<std::string, void*> data;  // pointers other than the tensors' own
  std::vector<char> workspace_memory = std::vector<char>(4096);
  void* workspace = workspace_memory.data();
  size_t workspace_size = 0;
  static constexpr size_t kNoSize = 77;
  size_t size = kNoSize;  // written by a getter

 protected:
  // The arguments of a call: handle, descriptor, pointer, and the getter's result.
  mluOpHandle_t HandleArgument() const {
    return null.count("handle") != 0 ? nullptr : handle_.get();
  }
  mluOpTensorDescriptor_t DescArgument(const char* name, const Tensor& tensor) const {
    return null.count(std::string(name) + "_desc") != 0 ? nullptr : tensor.desc();
  }
  void* DataArgument(const char* name, const Tensor& tensor) const {
    const auto other = data.find(name);
    if (other != data.end()) return other->second;
    return null.count(name) != 0 ? nullptr : tensor.data();
  }
  size_t* Size() { return null.count("workspace_size") != 0 ? nullptr : &size; }

 private:
  const Handle handle_;
};

// A function of a document: the test suite DocumentedFunction runs all rules over it.
struct DocumentedEntry {
  const char* name;
  std::unique_ptr<DocumentedCall> (*make)();
};
template <typename Call>
DocumentedEntry Function(const char* name) {
  return {name, []() -> std::unique_ptr<DocumentedCall> { return std::make_unique<Call>(); }};
}
inline std::string FunctionName(const ::testing::TestParamInfo<DocumentedEntry>& info) {
  return info.param.name;
}
class DocumentedFunction : public ::testing::TestWithParam<DocumentedEntry> {};

inline void ExpectSuccess(mluOpStatus_t status) {
  EXPECT_EQ(status, MLUOP_STATUS_SUCCESS) << LastMessage();
}

// The call must return BAD_PARAM with "<op>: <argument> must ...".
void ExpectBad(mluOpStatus_t status, const std::string& argument);

// One wrong shape or attribute, and the argument that the message must name.
struct WrongDims {
  const char* tensor;
  std::vector<int64_t> dims;
  const char* argument;
};
struct WrongAttribute {
  const char* attribute;
  int value;
  const char* argument;
};
void ExpectBadDims(const DocumentedEntry& entry, const std::vector<WrongDims>& rows);
void ExpectBadAttributes(const DocumentedEntry& entry, const std::vector<WrongAttribute>& rows);
template <typename Call>
void ExpectBadDims(const std::vector<WrongDims>& rows) {
  ExpectBadDims(Function<Call>(""), rows);
}
template <typename Call>
void ExpectBadAttributes(const std::vector<WrongAttribute>& rows) {
  ExpectBadAttributes(Function<Call>(""), rows);
}

// An output filled with kPoison: AllBytesAre(kPoison) is true until it is written.
inline Tensor Poisoned(mluOpTensorLayout_t layout, const std::vector<int64_t>& dims,
                       mluOpDataType_t type = MLUOP_DTYPE_FLOAT) {
  return Tensor(layout, type, dims, kPoison);
}

}  // namespace mluop::testing
