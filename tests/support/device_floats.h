// SPDX-License-Identifier: Apache-2.0
// Large tensors in device memory, for tests on a CUDA device.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mlu_op.h"

namespace mluop::testing {

inline constexpr int64_t kLimit = int64_t{1} << 31;
inline constexpr int64_t kSamples = 1000000;  // elements that a test compares

// Device memory of `count` floats; NULL if the device has not enough.
class DeviceFloats {
 public:
  explicit DeviceFloats(int64_t count) : count_(count) {
    size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    if (free < bytes() + (size_t{1} << 30)) return;
    EXPECT_EQ(cnrtMalloc(&data_, bytes()), cnrtSuccess);
  }
  ~DeviceFloats() { cnrtFree(data_); }
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;

  float* data() const { return static_cast<float*>(data_); }
  int64_t count() const { return count_; }
  size_t bytes() const { return static_cast<size_t>(count_) * sizeof(float); }
  void Set(int byte) { EXPECT_EQ(cnrtMemset(data_, byte, bytes()), cnrtSuccess); }
  // Copies `count` elements of four bytes: floats, or indices.
  void Write(int64_t at, const void* from, int64_t count) {
    EXPECT_EQ(cudaMemcpy(data() + at, from, static_cast<size_t>(count) * 4, cudaMemcpyDefault),
              cudaSuccess);
  }
  std::vector<float> Read(int64_t at, int64_t count) const {
    std::vector<float> values(static_cast<size_t>(count));
    EXPECT_EQ(cudaMemcpy(values.data(), data() + at, values.size() * 4, cudaMemcpyDefault),
              cudaSuccess);
    return values;
  }

  // Element i becomes Formula(i): a block from the host, then copies of it.
  // kBlock is a prime above 2^24: a wrong offset gives a wrong value.
  static constexpr int64_t kBlock = 16777259;
  static float Formula(int64_t i) { return static_cast<float>(1 + i % kBlock % 8388593); }
  void FillByFormula() {
    std::vector<float> block(static_cast<size_t>(std::min(kBlock, count_)));
    for (size_t i = 0; i < block.size(); ++i) block[i] = Formula(static_cast<int64_t>(i));
    Write(0, block.data(), static_cast<int64_t>(block.size()));
    for (int64_t at = kBlock; at < count_; at += kBlock) {
      Write(at, data(), std::min(kBlock, count_ - at));
    }
  }

  // Calls visit(first, values) on slices of the tensor.
  template <class Visit>
  void ForEachSlice(const Visit& visit) const {
    constexpr int64_t kSlice = int64_t{1} << 26;
    for (int64_t at = 0; at < count_; at += kSlice)
      visit(at, Read(at, std::min(kSlice, count_ - at)));
  }

 private:
  int64_t count_;
  void* data_ = nullptr;
};

#define SKIP_WITHOUT(memory) \
  if ((memory).data() == nullptr) GTEST_SKIP() << "too little memory on the device"

inline int64_t CountZeros(const DeviceFloats& tensor) {
  int64_t zeros = 0;
  tensor.ForEachSlice([&](int64_t, const std::vector<float>& values) {
    zeros += std::count(values.begin(), values.end(), 0.0f);
  });
  return zeros;
}

}  // namespace mluop::testing
