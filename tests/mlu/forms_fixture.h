// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of forms.h on the card that the environment names.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "forms.h"
#include "mluops/extensions.h"

namespace mluop::testing {

using Values = std::vector<float>;

// Returns the number of the card that the process simulates.
inline int Card() { return std::atoi(std::getenv("MLUOP_MLU_ARCH") + std::strlen("mlu")); }

inline bool IsStrict() {
  const char* const mode = std::getenv("MLUOP_MLU_CHECK");
  return mode != nullptr && std::string(mode) == "strict";
}

class Forms : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cnrtQueueCreate(&queue_), cnrtSuccess) << mluOpGetLastErrorMessage();
    ASSERT_EQ(cnrtMalloc(&in_, kBytes), cnrtSuccess);
    ASSERT_EQ(cnrtMalloc(&out_, kBytes), cnrtSuccess);
    ASSERT_EQ(cnrtMemset(out_, 0, kBytes), cnrtSuccess);
  }
  void TearDown() override {
    cnrtFree(in_);
    cnrtFree(out_);
    cnrtQueueDestroy(queue_);
  }

  // Returns the first `count` outputs; sets message_ if the launch fails.
  Values Run(const char* kernel, Values in, size_t count) {
    in.resize(kFormValues);
    EXPECT_EQ(cnrtMemcpy(in_, in.data(), kBytes, cnrtMemcpyHostToDev), cnrtSuccess);
    LaunchForm(kernel, queue_, static_cast<float*>(in_), static_cast<float*>(out_));
    message_ = cnrtQueueSync(queue_) == cnrtSuccess ? "" : mluOpGetLastErrorMessage();
    Values out(kFormValues);
    EXPECT_EQ(cnrtMemcpy(out.data(), out_, kBytes, cnrtMemcpyDevToHost), cnrtSuccess);
    out.resize(count);
    return out;
  }
  void ExpectMessage(const std::string& part) const {
    EXPECT_NE(message_.find(part), std::string::npos) << message_;
  }
  void ExpectNoMessage() const { EXPECT_EQ(message_, ""); }

  static constexpr size_t kBytes = kFormValues * sizeof(float);
  cnrtQueue_t queue_ = nullptr;
  void* in_ = nullptr;
  void* out_ = nullptr;
  std::string message_;
};

inline Values Iota(int count) {
  Values values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

// Kernels with instructions of 3xx and later: not run on mlu290.
class FormsFrom3xx : public Forms {};

}  // namespace mluop::testing
