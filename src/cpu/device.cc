// SPDX-License-Identifier: Apache-2.0
// The CPU device. Its memory is host memory, and a call is complete when it returns.
#include <hwy/highway.h>

#include <cstring>
#include <new>

#include "core/call_steps.h"
#include "core/error.h"
#include "core/operator.h"
#include "core/synchronous_device.h"
#include "cpu/context.h"
#include "cpu/floating_point.h"

namespace mluop {
namespace {

struct CpuState : DeviceState {
  Scratch scratch, nested;
};

class Cpu final : public SynchronousDevice<Cpu, CpuContext> {
 public:
  const char* name() const override { return "cpu"; }

  const char* architecture() const override {
    const int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
    return hwy::TargetName(targets & -targets);  // the lowest bit is the best target
  }

  std::string CallCounters() const override {
    return CallSteps::Text("loop of %lld items, slices %lld, threads %lld");
  }
  size_t WorkspaceBytes(const OpSpec& getter, const Arguments& arguments) const override {
    const DeviceGetter* const found = Index().FindGetter(getter);
    return found == nullptr ? 0 : WorkspaceFor(found->bytes(arguments));
  }
  cnrtRet_t CreateState(std::unique_ptr<DeviceState>* state) override {
    state->reset(new (std::nothrow) CpuState);
    return *state == nullptr ? cnrtErrorNoMem : cnrtSuccess;
  }

  cnrtRet_t Allocate(void** pointer, size_t bytes) override {
    void* const data = AllocateAligned(bytes == 0 ? 1 : bytes);
    if (data == nullptr) return cnrtErrorNoMem;
    *pointer = data;
    return cnrtSuccess;
  }
  cnrtRet_t Free(void* pointer) override {
    FreeAligned(pointer);
    return cnrtSuccess;
  }
  cnrtRet_t AllocateHost(void** pointer, size_t bytes) override { return Allocate(pointer, bytes); }
  cnrtRet_t FreeHost(void* pointer) override { return Free(pointer); }

  cnrtRet_t Copy(void* to, const void* from, size_t bytes, cnrtQueue_t) override {
    std::memcpy(to, from, bytes);
    return cnrtSuccess;
  }
  cnrtRet_t Fill(void* pointer, int value, size_t bytes, cnrtQueue_t) override {
    std::memset(pointer, value, bytes);
    return cnrtSuccess;
  }
  cnrtRet_t Synchronize() override { return cnrtSuccess; }
  cnrtRet_t SynchronizeQueue(cnrtQueue_t) override { return cnrtSuccess; }

  static const DeviceIndex<CpuContext>& Index() {
    static const DeviceIndex<CpuContext> index(Tables(), CpuFamilies());
    return index;
  }

  // Calls body(operator, context) with the library's floating-point settings.
  template <class Body>
  static mluOpStatus_t WithOperator(const Arguments& arguments, mluOpContext& handle,
                                    const Body& body) {
    auto& state = static_cast<CpuState&>(*handle.state);
    CallSteps::Clear();
    CpuContext context(handle.num_threads, arguments.workspace, state.scratch, state.nested);
    const DefaultFloatingPoint floating_point;
    try {
      return body(*Index().FindOperator(*arguments.spec), context);
    } catch (...) {
      return FailFromException(arguments.spec->name.data());
    }
  }
};

}  // namespace

void* CpuContext::Scratch(size_t bytes) {
  if (workspace_.size >= WorkspaceFor(bytes)) {
    const auto address = reinterpret_cast<uintptr_t>(workspace_.data);
    return static_cast<char*>(workspace_.data) + (kAlignment - address % kAlignment) % kAlignment;
  }
  void* const scratch = scratch_.Reserve(bytes);
  if (scratch == nullptr && bytes > 0) throw std::bad_alloc();
  return scratch;
}

Device* CpuDevice() {
  static Cpu cpu;
  return &cpu;
}

}  // namespace mluop
