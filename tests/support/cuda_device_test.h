// SPDX-License-Identifier: Apache-2.0
// The base of a suite that needs a CUDA device.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "core/device.h"

namespace mluop::testing {

// The first CUDA device is current during the test.
class CudaDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const DeviceList& list = VisibleDeviceList();
    for (int i = 0; i < list.count; ++i) {
      if (std::string(list.devices[i]->name()) != "cuda:0") continue;
      ASSERT_EQ(cnrtSetDevice(i), cnrtSuccess);
      return;
    }
    ASSERT_NE(access("/dev/nvidia0", F_OK), 0) << "there is a GPU, but: " << list.library_error;
    GTEST_SKIP() << "no CUDA device is visible: " << list.library_error;
  }
  void TearDown() override { cnrtSetDevice(0); }
};

}  // namespace mluop::testing
