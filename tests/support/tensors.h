// SPDX-License-Identifier: Apache-2.0
// The fixture of every test that calls the public API: a handle, descriptors and tensors.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mlu_op.h"
#include "mluops/extensions.h"

namespace mluop::testing {

class Handle {
 public:
  Handle() { EXPECT_EQ(mluOpCreate(&handle_), MLUOP_STATUS_SUCCESS); }
  explicit Handle(int threads) : Handle() {
    EXPECT_EQ(mluOpSetNumThreads(handle_, threads), MLUOP_STATUS_SUCCESS);
  }
  ~Handle() { EXPECT_EQ(mluOpDestroy(handle_), MLUOP_STATUS_SUCCESS); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  mluOpHandle_t get() const { return handle_; }
  operator mluOpHandle_t() const { return handle_; }  // NOLINT(google-explicit-constructor)

 private:
  mluOpHandle_t handle_ = nullptr;
};

// The base of a suite that calls operators.
class OperatorFixture : public ::testing::Test {
 protected:
  const Handle handle_;
};

// A descriptor; without arguments, one that was never set.
class Descriptor {
 public:
  Descriptor() { EXPECT_EQ(mluOpCreateTensorDescriptor(&desc_), MLUOP_STATUS_SUCCESS); }
  Descriptor(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const std::vector<int64_t>& dims)
      : Descriptor() {
    EXPECT_EQ(mluOpSetTensorDescriptor_v2(desc_, layout, dtype, static_cast<int>(dims.size()),
                                          dims.data()),
              MLUOP_STATUS_SUCCESS);
  }
  ~Descriptor() {
    if (desc_ != nullptr) mluOpDestroyTensorDescriptor(desc_);
  }
  Descriptor(Descriptor&& other) noexcept : desc_(std::exchange(other.desc_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(desc_, other.desc_);
    return *this;
  }

  mluOpTensorDescriptor_t desc() const { return desc_; }
  operator mluOpTensorDescriptor_t() const { return desc_; }  // NOLINT(google-explicit-constructor)
  mluOpTensorLayout_t layout() const {
    mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
    EXPECT_EQ(mluOpGetTensorDescriptor(desc_, &layout, nullptr, nullptr, nullptr), 0);
    return layout;
  }
  mluOpDataType_t dtype() const {
    mluOpDataType_t dtype = MLUOP_DTYPE_INVALID;
    EXPECT_EQ(mluOpGetTensorDescriptor(desc_, nullptr, &dtype, nullptr, nullptr), 0);
    return dtype;
  }
  std::vector<int64_t> dims() const {
    std::vector<int64_t> dims(MLUOP_DIM_MAX);
    int rank = 0;
    EXPECT_EQ(mluOpGetTensorDescriptor_v2(desc_, nullptr, nullptr, &rank, dims.data()), 0);
    dims.resize(static_cast<size_t>(rank));
    return dims;
  }

 private:
  mluOpTensorDescriptor_t desc_ = nullptr;
};

// A descriptor with memory of exactly its size, every byte set to the same value.
class Tensor : public Descriptor {
 public:
  Tensor(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const std::vector<int64_t>& dims,
         int byte = 0)
      : Descriptor(layout, dtype, dims) {
    size_t size = 0;
    if (dtype != MLUOP_DTYPE_INVALID) mluOpGetSizeOfDataType(dtype, &size);
    const size_t bytes = mluOpGetTensorElementNum(desc()) * size;
    constexpr size_t kLargest = size_t{64} << 20;  // a larger tensor must be rejected before use
    data_.assign(bytes > kLargest ? 1 : bytes, static_cast<char>(byte));
  }

  // Not NULL even if the tensor is empty.
  void* data() const {
    static char nothing[64];
    return data_.empty() ? nothing : const_cast<char*>(data_.data());
  }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }
  size_t bytes() const { return data_.size(); }
  bool AllBytesAre(int byte) const {
    return std::all_of(data_.begin(), data_.end(),
                       [byte](char c) { return c == static_cast<char>(byte); });
  }

 private:
  std::vector<char> data_;
};

inline Tensor Nhwc(const std::vector<int64_t>& dims, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT) {
  return Tensor(MLUOP_LAYOUT_NHWC, dtype, dims);
}
inline Tensor Nchw(const std::vector<int64_t>& dims, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT) {
  return Tensor(MLUOP_LAYOUT_NCHW, dtype, dims);
}
inline Tensor Array(const std::vector<int64_t>& dims, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT) {
  return Tensor(MLUOP_LAYOUT_ARRAY, dtype, dims);
}

inline std::string LastMessage() { return mluOpGetLastErrorMessage(); }
inline bool LastMessageHas(const std::string& part) {
  return LastMessage().find(part) != std::string::npos;
}

}  // namespace mluop::testing
