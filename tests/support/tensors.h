// SPDX-License-Identifier: Apache-2.0
// Handles and tensors for tests that are written against the public API alone.
#pragma once

#include <gtest/gtest.h>

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
  ~Handle() { EXPECT_EQ(mluOpDestroy(handle_), MLUOP_STATUS_SUCCESS); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  mluOpHandle_t get() const { return handle_; }
  operator mluOpHandle_t() const { return handle_; }  // NOLINT(google-explicit-constructor)

 private:
  mluOpHandle_t handle_ = nullptr;
};

// A descriptor with memory of exactly its size, all bytes alike.
class Tensor {
 public:
  Tensor(mluOpTensorLayout_t layout, mluOpDataType_t dtype, std::vector<int64_t> dims,
         int byte = 0) {
    EXPECT_EQ(mluOpCreateTensorDescriptor(&desc_), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(mluOpSetTensorDescriptor_v2(desc_, layout, dtype, static_cast<int>(dims.size()),
                                          dims.data()),
              MLUOP_STATUS_SUCCESS);
    size_t size = 0;
    if (dtype != MLUOP_DTYPE_INVALID) mluOpGetSizeOfDataType(dtype, &size);
    const size_t bytes = mluOpGetTensorElementNum(desc_) * size;
    constexpr size_t kLargest = size_t{64} << 20;  // beyond it the call must not get to the memory
    data_.assign(bytes > kLargest ? 1 : bytes, static_cast<char>(byte));
  }
  ~Tensor() {
    if (desc_ != nullptr) mluOpDestroyTensorDescriptor(desc_);
  }
  Tensor(Tensor&& other) noexcept : desc_(other.desc_), data_(std::move(other.data_)) {
    other.desc_ = nullptr;
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(desc_, other.desc_);
    std::swap(data_, other.data_);
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
  // Not NULL even where the tensor is empty.
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
    for (const char c : data_) {
      if (c != static_cast<char>(byte)) return false;
    }
    return true;
  }

 private:
  mluOpTensorDescriptor_t desc_ = nullptr;
  std::vector<char> data_;
};

inline Tensor Nhwc(std::vector<int64_t> dims, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT) {
  return Tensor(MLUOP_LAYOUT_NHWC, dtype, std::move(dims));
}
inline Tensor Nchw(std::vector<int64_t> dims, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT) {
  return Tensor(MLUOP_LAYOUT_NCHW, dtype, std::move(dims));
}
inline Tensor Array(std::vector<int64_t> dims, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT) {
  return Tensor(MLUOP_LAYOUT_ARRAY, dtype, std::move(dims));
}

inline std::string LastMessage() { return mluOpGetLastErrorMessage(); }
inline bool LastMessageHas(const std::string& part) {
  return LastMessage().find(part) != std::string::npos;
}

}  // namespace mluop::testing
