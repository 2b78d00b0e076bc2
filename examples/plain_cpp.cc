// SPDX-License-Identifier: Apache-2.0
// The boxes that hold three points, from C++: handles and descriptors in std::unique_ptr, statuses
// as exceptions. From the root of the project:
//
//   c++ -std=c++11 -Iinclude examples/plain_cpp.cc -Lbuild -lmluops -Wl,-rpath,build -o plain_cpp
//
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

#include "mlu_op.h"
#include "mluops/extensions.h"

// Throws the library's error message if a call fails.
static void Check(mluOpStatus_t status) {
  if (status != MLUOP_STATUS_SUCCESS) throw std::runtime_error(mluOpGetLastErrorMessage());
}

struct Destroy {
  void operator()(mluOpHandle_t handle) const { mluOpDestroy(handle); }
  void operator()(mluOpTensorDescriptor_t desc) const { mluOpDestroyTensorDescriptor(desc); }
};
using Handle = std::unique_ptr<mluOpContext, Destroy>;
using Descriptor = std::unique_ptr<mluOpTensorStruct, Destroy>;

static Handle CreateHandle() {
  mluOpHandle_t handle;
  Check(mluOpCreate(&handle));
  return Handle(handle);
}

static Descriptor Describe(mluOpDataType_t dtype, const std::vector<int>& dims) {
  mluOpTensorDescriptor_t desc;
  Check(mluOpCreateTensorDescriptor(&desc));
  Descriptor owner(desc);
  Check(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, dtype, static_cast<int>(dims.size()),
                                 dims.data()));
  return owner;
}

int main() try {
  const std::vector<float> points = {0, 0, 1, 5, 0, 1, 9, 9, 9};  // three points: x, y, z
  const std::vector<float> boxes = {0, 0, 0, 2, 2, 2, 0,          // centre of the bottom,
                                    5, 0, 0, 4, 1, 2, 0.5};       // sizes, rotation
  std::vector<int> box_of_point(3);
  const Handle handle = CreateHandle();
  const Descriptor points_desc = Describe(MLUOP_DTYPE_FLOAT, {1, 3, 3});
  const Descriptor boxes_desc = Describe(MLUOP_DTYPE_FLOAT, {1, 2, 7});
  const Descriptor result_desc = Describe(MLUOP_DTYPE_INT32, {1, 3});
  Check(mluOpPointsInBoxes(handle.get(), points_desc.get(), points.data(), boxes_desc.get(),
                           boxes.data(), result_desc.get(), box_of_point.data()));
  for (const int box : box_of_point) std::printf("%d ", box);
  std::printf("\n");
  return box_of_point == std::vector<int>{0, 1, -1} ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
