// SPDX-License-Identifier: Apache-2.0
// transpose: the worked example of the README.
#include <gtest/gtest.h>

#include "mlu_op.h"
#include "mluops/extensions.h"

namespace {

TEST(Transpose, WorkedExample) {
  const float input[6] = {1, 2, 3, 4, 5, 6};
  float output[6] = {};
  const int input_dims[3] = {1, 2, 3}, output_dims[3] = {1, 3, 2};
  mluOpHandle_t handle;
  mluOpTensorDescriptor_t input_desc, output_desc;
  ASSERT_EQ(mluOpCreate(&handle), MLUOP_STATUS_SUCCESS);
  mluOpCreateTensorDescriptor(&input_desc);
  mluOpCreateTensorDescriptor(&output_desc);
  mluOpSetTensorDescriptor(input_desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, input_dims);
  mluOpSetTensorDescriptor(output_desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, output_dims);
  EXPECT_EQ(mluOpTranspose(handle, input_desc, input, output_desc, output), MLUOP_STATUS_SUCCESS);
  const float expected[6] = {1, 4, 2, 5, 3, 6};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(output[i], expected[i]);
  mluOpDestroyTensorDescriptor(output_desc);
  mluOpDestroyTensorDescriptor(input_desc);
  mluOpDestroy(handle);
}

}  // namespace
