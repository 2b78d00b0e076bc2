// SPDX-License-Identifier: Apache-2.0
// A stub of libmluops_cuda.so for tests of the driver: its device "cuda:0" is the CPU under another
// name. With MLUOP_STUB_WRONG set, every result has a wrong first byte.
#include <cstdlib>

#include "core/arguments.h"
#include "core/device_library.h"
#include "core/operator.h"

namespace {

using mluop::CpuDevice;

// Returns the stub's own copy of a table of libmluops: the CPU device finds operators by the address of the table.
const mluop::OpSpec& Own(const mluop::OpSpec& spec) {
  for (const mluop::Family* family : mluop::Families()) {
    for (const mluop::Operator* op : family->operators) {
      if (op->spec.name == spec.name) return op->spec;
    }
    for (const mluop::OpSpec* getter : family->getters) {
      if (getter->name == spec.name) return *getter;
    }
  }
  return spec;
}
mluop::Arguments Own(const mluop::Arguments& arguments) {
  mluop::Arguments own = arguments;
  own.spec = &Own(*arguments.spec);
  return own;
}

class HostDevice final : public mluop::Device {
 public:
  const char* name() const override { return "cuda:0"; }
  const char* architecture() const override { return "stub"; }
  bool is_synchronous() const override { return true; }
  std::span<const mluop::ImplementationInfo> Implementations(
      const mluop::OpSpec& op) const override {
    return CpuDevice()->Implementations(Own(op));
  }
  mluOpStatus_t Run(const mluop::Arguments& arguments, mluOpContext& handle) override {
    const mluOpStatus_t status = CpuDevice()->Run(Own(arguments), handle);
    if (std::getenv("MLUOP_STUB_WRONG") == nullptr) return status;
    for (int i = 0; i < arguments.spec->tensor_count; ++i) {
      if (arguments.spec->tensors[i].direction != mluop::kOut) continue;
      *static_cast<unsigned char*>(arguments.tensors[i].data) ^= 0x40;
    }
    return status;
  }
  mluOpStatus_t MakePlan(const mluop::Arguments& arguments, mluOpContext& handle,
                         mluop::Plan* plan) override {
    return CpuDevice()->MakePlan(Own(arguments), handle, plan);
  }
  size_t WorkspaceBytes(const mluop::OpSpec& getter,
                        const mluop::Arguments& arguments) const override {
    return CpuDevice()->WorkspaceBytes(Own(getter), Own(arguments));
  }
  cnrtRet_t CreateState(std::unique_ptr<mluop::DeviceState>* state) override {
    return CpuDevice()->CreateState(state);
  }
  cnrtRet_t Allocate(void** pointer, size_t bytes) override {
    return CpuDevice()->Allocate(pointer, bytes);
  }
  cnrtRet_t Free(void* pointer) override { return CpuDevice()->Free(pointer); }
  cnrtRet_t AllocateHost(void** pointer, size_t bytes) override {
    return CpuDevice()->AllocateHost(pointer, bytes);
  }
  cnrtRet_t FreeHost(void* pointer) override { return CpuDevice()->FreeHost(pointer); }
  cnrtRet_t Copy(void* to, const void* from, size_t bytes, cnrtQueue_t) override {
    return CpuDevice()->Copy(to, from, bytes, nullptr);
  }
  cnrtRet_t Fill(void* pointer, int value, size_t bytes, cnrtQueue_t) override {
    return CpuDevice()->Fill(pointer, value, bytes, nullptr);
  }
  cnrtRet_t Synchronize() override { return cnrtSuccess; }
  cnrtRet_t CreateQueue(cnrtQueue_t* queue) override { return WrapStream(nullptr, queue); }
  cnrtRet_t DestroyQueue(cnrtQueue_t queue) override {
    delete queue;
    return cnrtSuccess;
  }
  cnrtRet_t SynchronizeQueue(cnrtQueue_t) override { return cnrtSuccess; }
  cnrtRet_t WrapStream(void*, cnrtQueue_t* queue) override {
    *queue = new cnrtQueue{this};
    return cnrtSuccess;
  }
  cnrtRet_t CreateNotifier(cnrtNotifier_t*) override { return cnrtErrorArgsInvalid; }
  cnrtRet_t DestroyNotifier(cnrtNotifier_t) override { return cnrtErrorArgsInvalid; }
  cnrtRet_t PlaceNotifier(cnrtNotifier_t, cnrtQueue_t) override { return cnrtErrorArgsInvalid; }
  cnrtRet_t WaitNotifier(cnrtNotifier_t) override { return cnrtErrorArgsInvalid; }
  cnrtRet_t Duration(cnrtNotifier_t, cnrtNotifier_t, double*) override {
    return cnrtErrorArgsInvalid;
  }
};

}  // namespace

extern "C" [[gnu::visibility("default")]] const mluop::DeviceLibrary* mluopsDeviceLibrary(
    int, const mluop::DeviceLibraryHost*) {
  static HostDevice device;
  static mluop::Device* devices[] = {&device};
  static const mluop::DeviceLibrary library = {1, devices, ""};
  return &library;
}
