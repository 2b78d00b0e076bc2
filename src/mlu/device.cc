// SPDX-License-Identifier: Apache-2.0
// The device mlu:0, and the entry point of libmluops_mlu.so.
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "core/device_library.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/handle.h"
#include "core/synchronous_device.h"
#include "mlu/context.h"
#include "mlu/job.h"
#include "mlu/memory.h"
#include "mlu/settings.h"

namespace mluop {

StoreMessage store_message = nullptr;  // set by the entry point, before any call can fail

namespace {

using bang::GetGdram;
using bang::RangeOf;

// A queue runs each launch at once. It keeps the first failure until it is synchronized.
struct MluQueue : cnrtQueue {
  std::mutex mutex;
  bang::Violation failure = {"", MLUOP_STATUS_SUCCESS};
  bang::Counters counters;
};

MluQueue& QueueOf(cnrtQueue_t queue) {
  static auto* const default_queue = new MluQueue;
  return queue == nullptr ? *default_queue : *static_cast<MluQueue*>(queue);
}

thread_local std::string call_counters;  // of the thread's last call

void KeepCounters(const char* title, const MluQueue& queue) {
  call_counters = queue.counters.Format();
  if (Verbosity() < 1) return;
  std::string line;
  for (const char c : call_counters) line += c == '\n' ? "; " : std::string(1, c);
  fprintf(stderr, "# %s: %s\n", title, line.substr(0, line.size() - 2).c_str());
}

cnrtRet_t StatusOf(bool success) { return success ? cnrtSuccess : cnrtErrorArgsInvalid; }

class MluDevice final : public SynchronousDevice<MluDevice, MluContext, MluQueue> {
 public:
  // `tables`: the tables of libmluops.so.
  explicit MluDevice(std::span<const OpSpec* const> tables) : index_(tables, MluFamilies()) {}

  const char* name() const override { return "mlu:0"; }
  const char* architecture() const override { return bang::GetSettings().card.architecture; }
  bool sets_queue_messages() const override { return true; }
  bool counts_only() const override { return true; }
  std::string CallCounters() const override { return call_counters; }

  const DeviceIndex<MluContext>& Index() const { return index_; }
  // Calls body(operator, context) with a separate queue.
  template <class Body>
  mluOpStatus_t WithOperator(const Arguments& arguments, mluOpContext&, const Body& body) {
    const std::string_view name = arguments.spec->name;
    if (arguments.Type() == MLUOP_DTYPE_DOUBLE)
      return Fail(MLUOP_STATUS_NOT_SUPPORTED,
                  "%.*s: dtype must be half or float on mlu:0, got double", MLUOP_SV(name));
    try {
      MluQueue queue;
      queue.device = this;
      MluContext context(&queue, arguments.workspace);
      return body(*index_.FindOperator(*arguments.spec), context);
    } catch (...) {
      return FailFromException(name.data());
    }
  }

  mluOpStatus_t Run(const Arguments& arguments, mluOpContext& handle) override {
    return WithOperator(arguments, handle, [&](const MluOperator& op, MluContext& context) {
      const mluOpStatus_t status = op.run(arguments, context, handle.implementation);
      const MluQueue& queue = QueueOf(context.queue());
      KeepCounters("mlu:0", queue);
      const auto& [message, failed] = queue.failure;
      if (failed == MLUOP_STATUS_SUCCESS) return status;
      return Fail(failed, "%.*s: %s", MLUOP_SV(arguments.spec->name), message.c_str());
    });
  }
  size_t WorkspaceBytes(const OpSpec& getter, const Arguments& arguments) const override {
    const DeviceGetter* const found = index_.FindGetter(getter);
    return found == nullptr ? 0 : found->bytes(arguments);
  }
  cnrtRet_t Allocate(void** pointer, size_t bytes) override {
    *pointer = GetGdram().Allocate(bytes);
    return *pointer == nullptr ? cnrtErrorNoMem : cnrtSuccess;
  }
  cnrtRet_t Free(void* pointer) override {
    return StatusOf(pointer == nullptr || GetGdram().Free(pointer));
  }
  cnrtRet_t Copy(void* to, const void* from, size_t bytes, cnrtQueue_t) override {
    return StatusOf(GetGdram().Access({RangeOf(to, bytes), RangeOf(from, bytes)},
                                      [&] { std::memcpy(to, from, bytes); }));
  }
  cnrtRet_t Fill(void* pointer, int value, size_t bytes, cnrtQueue_t) override {
    return StatusOf(
        GetGdram().Access({RangeOf(pointer, bytes)}, [&] { std::memset(pointer, value, bytes); }));
  }

  cnrtRet_t Synchronize() override { return SynchronizeQueue(nullptr); }
  cnrtRet_t SynchronizeQueue(cnrtQueue_t queue) override {
    MluQueue& target = QueueOf(queue);
    const std::lock_guard<std::mutex> lock(target.mutex);
    if (target.counters.launches > 0) KeepCounters("mlu:0, queue", target);
    target.counters = {};
    const auto [message, status] = std::exchange(target.failure, {"", MLUOP_STATUS_SUCCESS});
    if (status == MLUOP_STATUS_SUCCESS) return cnrtSuccess;
    static_cast<void>(mluop::Fail(status, "%s", message.c_str()));
    return cnrtErrorUnknown;
  }

 private:
  DeviceIndex<MluContext> index_;
};

DeviceLibrary MakeLibrary(std::span<const OpSpec* const> tables) {
  static Device* devices[] = {new MluDevice(tables)};
  const std::string& error = bang::GetSettings().error;
  DeviceLibrary library = {error.empty() ? 1 : 0, devices, ""};
  snprintf(library.error, sizeof(library.error), "%s", error.c_str());
  return library;
}

}  // namespace

void* MluContext::Scratch(size_t bytes) {
  if (workspace_.size >= bytes) return workspace_.data;
  scratch_ = {GetGdram().Allocate(bytes), [](void* data) { GetGdram().Free(data); }};
  if (scratch_ == nullptr) throw std::bad_alloc();
  return scratch_.get();
}

}  // namespace mluop

void bang::FinishLaunch(const LaunchState& launch) {
  mluop::MluQueue& target = mluop::QueueOf(launch.site.queue);
  const std::lock_guard<std::mutex> lock(target.mutex);
  target.counters.Add(launch.counters);
  if (launch.failed() && target.failure.status == MLUOP_STATUS_SUCCESS)
    target.failure = launch.violation;
}

extern "C" [[gnu::visibility("default")]] const mluop::DeviceLibrary* mluopsDeviceLibrary(
    int version, const mluop::DeviceLibraryHost* host) {
  if (version != mluop::kDeviceLibraryVersion) return nullptr;
  mluop::store_message = host->store_message;
  static const mluop::DeviceLibrary library = mluop::MakeLibrary(host->tables);
  return &library;
}
