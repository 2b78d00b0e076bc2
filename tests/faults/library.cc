// SPDX-License-Identifier: Apache-2.0
// Stubs of libmluops_cuda.so, each with the defect that its macro names.
#include "core/device_library.h"
#include "tests/faults/failing_device.h"

#ifdef MISSING_SYMBOL
extern "C" void mluopsUndefinedSymbol();
#endif

namespace {

#ifdef WRONG_VERSION
const mluop::DeviceLibrary* MakeLibrary() { return nullptr; }
#elif defined(FAILING_DEVICE)
const mluop::DeviceLibrary* MakeLibrary() {
  static mluop::testing::FailingDevice device(cnrtErrorNoMem, "cuda:0");
  static mluop::Device* devices[] = {&device};
  static const mluop::DeviceLibrary library = {1, devices, ""};
  return &library;
}
#else
const mluop::DeviceLibrary* MakeLibrary() {
  static const mluop::DeviceLibrary library = {0, nullptr, "CUDA: no devices (stub)"};
  return &library;
}
#endif

}  // namespace

extern "C" [[gnu::visibility("default")]] const mluop::DeviceLibrary* mluopsDeviceLibrary(
    int, const mluop::DeviceLibraryHost*) {
#ifdef MISSING_SYMBOL
  mluopsUndefinedSymbol();
#endif
  return MakeLibrary();
}
