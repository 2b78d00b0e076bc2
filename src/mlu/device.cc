// SPDX-License-Identifier: Apache-2.0
#include "mlu/device.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "core/environment.h"
#include "core/error.h"
#include "core/handle.h"
#include "mlu/gdram.h"
#include "mlu/settings.h"

namespace mluop {
namespace {

using Clock = std::chrono::steady_clock;

// A queue runs each launch at once. It keeps the first failure until it is synchronized.
struct MluQueue : cnrtQueue {
  std::mutex mutex;
  std::string message;
  mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
  bang::LaunchCounters counters;
};

struct MluNotifier : cnrtNotifier {
  Clock::time_point time;
};

MluQueue& DefaultQueue() {
  static auto* const queue = new MluQueue;
  return *queue;
}

MluQueue& QueueOf(cnrtQueue_t queue) {
  return queue == nullptr ? DefaultQueue() : *static_cast<MluQueue*>(queue);
}

thread_local std::string call_counters;

void PrintCounters(const char* title, const std::string& counters) {
  fprintf(stderr, "%s", title);
  for (const char c : counters.substr(0, counters.size() - 1)) {
    if (c == '\n') {
      fputs("; ", stderr);
    } else {
      fputc(c, stderr);
    }
  }
  fputc('\n', stderr);
}

}  // namespace

const MluProperties& GetMluProperties() {
  static const MluProperties properties = [] {
    const bang::Settings& settings = bang::GetSettings();
    const bang::Card& architecture = *settings.architecture;
    return MluProperties{architecture.name,      architecture.number,     settings.clusters,
                         bang::kCoresPerCluster, architecture.nram_bytes, architecture.sram_bytes,
                         architecture.wram_bytes};
  }();
  return properties;
}

void FinishLaunch(cnrtQueue_t queue, const bang::Violation* violation,
                  const bang::LaunchCounters& counters) {
  MluQueue& target = QueueOf(queue);
  const std::lock_guard<std::mutex> lock(target.mutex);
  target.counters.Add(counters);
  ++target.counters.launches;
  if (violation == nullptr || target.status != MLUOP_STATUS_SUCCESS) return;
  target.message = violation->message;
  target.status =
      violation->is_architecture ? MLUOP_STATUS_ARCH_MISMATCH : MLUOP_STATUS_EXECUTION_FAILED;
}

MluContext::~MluContext() {
  if (scratch_ != nullptr) bang::GetGdram().Free(scratch_);
}

void* MluContext::Scratch(size_t bytes) {
  if (workspace_.size >= bytes) return workspace_.data;
  scratch_ = bang::GetGdram().Allocate(bytes);
  if (scratch_ == nullptr) throw std::bad_alloc();
  return scratch_;
}

const DeviceIndex<MluContext>& MluDevice::Index() const {
  static const DeviceIndex<MluContext> index(tables_, MluFamilies());
  return index;
}

std::span<const std::string_view> MluDevice::Implementations(const OpSpec& op) const {
  const MluOperator* const found = Index().FindOperator(op);
  return found == nullptr ? std::span<const std::string_view>() : found->names;
}

std::string MluDevice::CallCounters() const { return call_counters; }

mluOpStatus_t MluDevice::Run(const Arguments& arguments, mluOpContext& handle) {
  const std::string_view name = arguments.spec->name;
  try {
    MluQueue queue;
    queue.device = this;
    MluContext context(&queue, arguments.workspace);
    const mluOpStatus_t status =
        Index().FindOperator(*arguments.spec)->run(arguments, context, handle.implementation);
    call_counters = queue.counters.Format();
    if (Verbosity() >= 1) PrintCounters("# mlu:0: ", call_counters);
    if (queue.status == MLUOP_STATUS_SUCCESS) return status;
    return Fail(queue.status, "%.*s: %s", MLUOP_SV(name), queue.message.c_str());
  } catch (...) {
    return FailFromException(name.data());
  }
}

mluOpStatus_t MluDevice::MakePlan(const Arguments& arguments, mluOpContext& handle, Plan* plan) {
  try {
    MluContext context(nullptr, arguments.workspace);
    return Index()
        .FindOperator(*arguments.spec)
        ->plan(arguments, context, handle.implementation, plan);
  } catch (...) {
    return FailFromException(arguments.spec->name.data());
  }
}

size_t MluDevice::WorkspaceBytes(const OpSpec& getter, const Arguments& arguments) const {
  const DeviceGetter* const found = Index().FindGetter(getter);
  return found == nullptr ? 0 : found->bytes(arguments);
}

cnrtRet_t MluDevice::CreateState(std::unique_ptr<DeviceState>* state) {
  state->reset();
  return cnrtSuccess;
}

cnrtRet_t MluDevice::Allocate(void** pointer, size_t bytes) {
  *pointer = bang::GetGdram().Allocate(bytes);
  return *pointer == nullptr ? cnrtErrorNoMem : cnrtSuccess;
}

cnrtRet_t MluDevice::Free(void* pointer) {
  const bool freed = pointer == nullptr || bang::GetGdram().Free(pointer);
  return freed ? cnrtSuccess : cnrtErrorArgsInvalid;
}

cnrtRet_t MluDevice::AllocateHost(void** pointer, size_t bytes) {
  *pointer = std::malloc(bytes == 0 ? 1 : bytes);
  return *pointer == nullptr ? cnrtErrorNoMem : cnrtSuccess;
}

cnrtRet_t MluDevice::FreeHost(void* pointer) {
  std::free(pointer);
  return cnrtSuccess;
}

cnrtRet_t MluDevice::Copy(void* to, const void* from, size_t bytes, cnrtQueue_t) {
  return bang::GetGdram().Copy(to, from, bytes) ? cnrtSuccess : cnrtErrorArgsInvalid;
}

cnrtRet_t MluDevice::Fill(void* pointer, int value, size_t bytes, cnrtQueue_t) {
  return bang::GetGdram().Fill(pointer, value, bytes) ? cnrtSuccess : cnrtErrorArgsInvalid;
}

cnrtRet_t MluDevice::Synchronize() { return SynchronizeQueue(nullptr); }

cnrtRet_t MluDevice::CreateQueue(cnrtQueue_t* queue) {
  auto* const created = new (std::nothrow) MluQueue;
  if (created == nullptr) return cnrtErrorNoMem;
  created->device = this;
  *queue = created;
  return cnrtSuccess;
}

cnrtRet_t MluDevice::DestroyQueue(cnrtQueue_t queue) {
  delete static_cast<MluQueue*>(queue);
  return cnrtSuccess;
}

cnrtRet_t MluDevice::SynchronizeQueue(cnrtQueue_t queue) {
  MluQueue& target = QueueOf(queue);
  const std::lock_guard<std::mutex> lock(target.mutex);
  if (target.counters.launches > 0) {
    call_counters = target.counters.Format();
    if (Verbosity() >= 1) PrintCounters("# mlu:0, queue: ", call_counters);
    target.counters = {};
  }
  if (target.status == MLUOP_STATUS_SUCCESS) return cnrtSuccess;
  static_cast<void>(Fail(target.status, "%s", target.message.c_str()));
  target.status = MLUOP_STATUS_SUCCESS;
  return cnrtErrorUnknown;
}

cnrtRet_t MluDevice::WrapStream(void*, cnrtQueue_t*) { return cnrtErrorArgsInvalid; }

cnrtRet_t MluDevice::CreateNotifier(cnrtNotifier_t* notifier) {
  auto* const created = new (std::nothrow) MluNotifier;
  if (created == nullptr) return cnrtErrorNoMem;
  created->device = this;
  *notifier = created;
  return cnrtSuccess;
}

cnrtRet_t MluDevice::DestroyNotifier(cnrtNotifier_t notifier) {
  delete static_cast<MluNotifier*>(notifier);
  return cnrtSuccess;
}

cnrtRet_t MluDevice::PlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t) {
  static_cast<MluNotifier*>(notifier)->time = Clock::now();
  return cnrtSuccess;
}

cnrtRet_t MluDevice::WaitNotifier(cnrtNotifier_t) { return cnrtSuccess; }

cnrtRet_t MluDevice::Duration(cnrtNotifier_t start, cnrtNotifier_t end, double* us) {
  const auto span = static_cast<MluNotifier*>(end)->time - static_cast<MluNotifier*>(start)->time;
  *us = std::chrono::duration<double, std::micro>(span).count();
  return cnrtSuccess;
}

}  // namespace mluop
