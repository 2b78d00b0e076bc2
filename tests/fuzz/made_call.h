// SPDX-License-Identifier: Apache-2.0
// Bytes -> a call: a valid small problem of an operator's table, then a few things changed.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bytes.h"
#include "core/arguments.h"
#include "testing/operator_test.h"

namespace mluop::fuzz {

// One operator or one getter.
struct EntryPoint {
  const OpSpec* spec;
  const Operator* op;                 // NULL for a getter
  const testing::OperatorTest* test;  // NULL for a getter
  const testing::GetterTest* getter;  // NULL for an operator
};

// Memory of exactly `size` bytes, at an address that is `skew` off what malloc gives, so that
// AddressSanitizer sees whatever goes beyond it.
class Block {
 public:
  explicit Block(size_t size, size_t skew = 0)
      : start_(static_cast<unsigned char*>(std::malloc(size + skew)), std::free),
        size_(size),
        skew_(skew) {
    std::memset(data(), 0xa5, size);
  }
  unsigned char* data() const { return start_.get() + skew_; }
  size_t size() const { return size_; }
  // To be called once the block is filled.
  void Remember() { before_.assign(data(), data() + size_); }
  bool Changed() const { return size_ > 0 && std::memcmp(data(), before_.data(), size_) != 0; }

 private:
  std::unique_ptr<unsigned char, decltype(&std::free)> start_;
  size_t size_;
  size_t skew_;
  std::vector<unsigned char> before_;
};

struct MadeCall {
  MadeCall(const EntryPoint& entry_point, mluOpHandle_t some_handle, Bytes& bytes);
  MadeCall(const MadeCall&) = delete;
  MadeCall& operator=(const MadeCall&) = delete;

  const EntryPoint& entry;
  const OpSpec& spec;
  const std::string name;
  mluOpHandle_t handle;
  Arguments arguments;
  std::vector<Block> blocks;  // one per tensor, even where the pointer is NULL or another's
  bool as_made = true;        // valid, not empty, and nothing changed since
  bool too_large = false;     // some tensor is larger than its block: it must not run
  bool smooth = false;        // inputs of type T are in [0, 12): sums of them lose no digits

 private:
  void MakeValid();
  Value ValidAttribute(const AttributeSpec& row);
  void MakeDescriptor(int i, mluOpDataType_t type);
  void ChangeDescriptorOrAttribute();
  void ChangeAttribute(int i);
  void ChangeDescriptor(mluOpTensorStruct& desc);
  void AllocateTensors();
  void AllocateWorkspace();
  void Fill(int i, const Block& block, testing::Random& random);
  void ChangePointer();

  Bytes& bytes_;
  mluOpTensorStruct descs_[kMaxTensors];
  std::optional<Block> workspace_;
};

}  // namespace mluop::fuzz
