// SPDX-License-Identifier: Apache-2.0
// Turns bytes into a sequence of calls of the functions for handles, queues, notifiers, memory and
// devices, on the CPU. A call with legal arguments succeeds and matches the recorded state; any
// other is rejected and changes nothing.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mlu_op.h"
#include "mluops/runtime.h"
#include "tests/fuzz/live_handles.h"
#include "tests/fuzz/status_checks.h"

namespace mluop::fuzz {
namespace {

constexpr int kCount = 4;
constexpr size_t kMaxBytes = 200;

// Device or host memory, and its expected contents.
class Memory {
 public:
  Memory() = default;
  ~Memory() { Free(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const { return data_; }
  size_t size() const { return expected.size(); }

  void Allocate(size_t bytes, bool host) {
    Free();
    host_ = host;
    const cnrtRet_t result = host ? cnrtHostMalloc(&data_, bytes) : cnrtMalloc(&data_, bytes);
    RequireResult(true, result, host ? "cnrtHostMalloc" : "cnrtMalloc");
    Require(data_ != nullptr && reinterpret_cast<uintptr_t>(data_) % 64 == 0, "must be aligned",
            "cnrtMalloc");
    expected.assign(bytes, 0x3c);
    if (bytes > 0) std::memset(data_, 0x3c, bytes);
  }
  void Free() {
    RequireResult(true, host_ ? cnrtFreeHost(data_) : cnrtFree(data_), "cnrtFree");
    data_ = nullptr;
    expected.clear();
  }
  void Check() const {
    Require(size() == 0 || std::memcmp(data_, expected.data(), size()) == 0,
            "must hold the written bytes", "memory");
  }

  std::vector<unsigned char> expected;

 private:
  void* data_ = nullptr;
  bool host_ = false;
};

// Tries sizes that cannot be allocated, including sizes whose rounding overflows.
void TryTooMuch(Bytes& bytes) {
  const size_t size =
      SIZE_MAX - static_cast<size_t>(bytes.Below(200)) - (bytes.OneIn(2) ? SIZE_MAX / 2 : 0);
  int unused = 0;
  void* pointer = &unused;
  const bool host = bytes.OneIn(2);
  const cnrtRet_t result = host ? cnrtHostMalloc(&pointer, size) : cnrtMalloc(&pointer, size);
  RequireStatusAndMessage(false, result == cnrtSuccess, host ? "cnrtHostMalloc" : "cnrtMalloc");
  Require(result == cnrtErrorNoMem && pointer == &unused, "must be NoMem and keep the pointer",
          "cnrtMalloc");
  RequireResult(false, host ? cnrtHostMalloc(nullptr, 1) : cnrtMalloc(nullptr, 1),
                host ? "cnrtHostMalloc" : "cnrtMalloc");
}

void TryCopy(Memory& to, Memory& from, cnrtQueue_t queue, Bytes& bytes) {
  const int direction = bytes.OneIn(8) ? static_cast<int>(bytes.Integer()) : bytes.Below(6);
  const auto dir = static_cast<cnrtMemTransDir_t>(direction);
  // Two pointers to blocks, or NULL with a size; a block is not copied onto itself.
  const bool apart = &to != &from;
  const size_t max_size = apart ? std::min(to.size(), from.size()) : 0;
  size_t size =
      max_size == 0 ? 0 : static_cast<size_t>(bytes.Below(static_cast<int>(max_size) + 1));
  if (to.data() == nullptr || from.data() == nullptr) size = static_cast<size_t>(bytes.Below(3));
  const bool present = to.data() != nullptr && from.data() != nullptr;
  const bool legal = direction >= 0 && direction <= 5 && (size == 0 || present);
  if (bytes.OneIn(2)) {
    RequireResult(legal, cnrtMemcpy(to.data(), from.data(), size, dir), "cnrtMemcpy");
  } else {
    RequireResult(legal, cnrtMemcpyAsync(to.data(), from.data(), size, queue, dir),
                  "cnrtMemcpyAsync");
  }
  if (legal) std::copy_n(from.expected.begin(), size, to.expected.begin());
}

void TryFill(Memory& memory, cnrtQueue_t queue, Bytes& bytes) {
  const int value = static_cast<int>(bytes.Integer());
  const size_t size = memory.data() == nullptr
                          ? static_cast<size_t>(bytes.Below(3))
                          : static_cast<size_t>(bytes.Below(static_cast<int>(memory.size()) + 1));
  const bool legal = size == 0 || memory.data() != nullptr;
  if (bytes.OneIn(2)) {
    RequireResult(legal, cnrtMemset(memory.data(), value, size), "cnrtMemset");
  } else {
    RequireResult(legal, cnrtMemsetAsync(memory.data(), value, size, queue), "cnrtMemsetAsync");
  }
  if (legal) std::fill_n(memory.expected.begin(), size, static_cast<unsigned char>(value));
}

void StepMemory(Memory (&blocks)[kCount], cnrtQueue_t queue, Bytes& bytes) {
  Memory& one = blocks[bytes.Below(kCount)];
  Memory& other = blocks[bytes.Below(kCount)];
  switch (bytes.Below(6)) {
    case 0: one.Allocate(static_cast<size_t>(bytes.Below(kMaxBytes)), bytes.OneIn(2)); break;
    case 1: one.Free(); break;
    case 2: TryTooMuch(bytes); break;
    case 3: TryFill(one, queue, bytes); break;
    default: TryCopy(one, other, queue, bytes);
  }
  for (const Memory& block : blocks) block.Check();
}

struct Notifier {
  cnrtNotifier_t notifier = nullptr;
  bool placed = false;
};

void TryDurations(const Notifier& start, const Notifier& end) {
  const bool legal = start.placed && end.placed;
  float us = -1e9f, ms = -1e9f;
  RequireResult(legal, cnrtNotifierDuration(start.notifier, end.notifier, &us),
                "cnrtNotifierDuration");
  RequireResult(legal, cnrtNotifierElapsedTime(start.notifier, end.notifier, &ms),
                "cnrtNotifierElapsedTime");
  Require(legal == (us != -1e9f) && legal == (ms != -1e9f), "must be written on success only",
          "cnrtNotifierDuration");
  RequireResult(false, cnrtNotifierDuration(start.notifier, end.notifier, nullptr),
                "cnrtNotifierDuration");
  RequireResult(false, cnrtNotifierElapsedTime(start.notifier, end.notifier, nullptr),
                "cnrtNotifierElapsedTime");
}

void StepNotifier(Notifier (&notifiers)[kCount], cnrtQueue_t queue, Bytes& bytes) {
  Notifier& one = notifiers[bytes.Below(kCount)];
  const bool present = one.notifier != nullptr;
  switch (bytes.Below(5)) {
    case 0:
      if (!present) RequireResult(true, cnrtNotifierCreate(&one.notifier), "cnrtNotifierCreate");
      RequireResult(false, cnrtNotifierCreate(nullptr), "cnrtNotifierCreate");
      break;
    case 1:
      RequireResult(present, cnrtNotifierDestroy(one.notifier), "cnrtNotifierDestroy");
      one = {};
      break;
    case 2:
      RequireResult(present, cnrtPlaceNotifier(one.notifier, queue), "cnrtPlaceNotifier");
      one.placed = present;
      break;
    case 3: RequireResult(present, cnrtWaitNotifier(one.notifier), "cnrtWaitNotifier"); break;
    default: TryDurations(one, notifiers[bytes.Below(kCount)]);
  }
}

// The CPU is the only device.
void StepDevice(Bytes& bytes) {
  const int ordinal = static_cast<int>(bytes.Integer());
  unsigned int count = 0;
  int current = -1;
  RequireResult(ordinal == 0, cnrtSetDevice(ordinal), "cnrtSetDevice");
  RequireResult(true, cnrtGetDeviceCount(&count), "cnrtGetDeviceCount");
  RequireResult(true, cnrtGetDevice(&current), "cnrtGetDevice");
  RequireResult(true, cnrtSyncDevice(), "cnrtSyncDevice");
  Require(count == 1 && current == 0, "there must be one device, and it is current", "device");
  RequireResult(false, cnrtGetDeviceCount(nullptr), "cnrtGetDeviceCount");
  RequireResult(false, cnrtGetDevice(nullptr), "cnrtGetDevice");
  RequireStatus(false, mluOpCreateQueueFromCudaStream(nullptr, ordinal, nullptr),
                "mluOpCreateQueueFromCudaStream");
  cnrtQueue_t queue = nullptr;
  const mluOpStatus_t status = mluOpCreateQueueFromCudaStream(&queue, ordinal, nullptr);
  RequireStatusAndMessage(false, status == MLUOP_STATUS_SUCCESS, "mluOpCreateQueueFromCudaStream");
  Require(status == MLUOP_STATUS_NOT_SUPPORTED && queue == nullptr, "must be NOT_SUPPORTED",
          "mluOpCreateQueueFromCudaStream");
}

void StepLibrary(Bytes& bytes) {
  const int value = bytes.OneIn(2) ? static_cast<int>(bytes.Integer()) : bytes.Below(12);
  const auto error = static_cast<cnrtRet_t>(value);
  Require(cnrtGetErrorStr(error)[0] != '\0' && cnrtGetErrorName(error)[0] != '\0',
          "must be a message for any value", "cnrtGetErrorStr");
  Require(mluOpGetErrorString(static_cast<mluOpStatus_t>(value))[0] != '\0',
          "must be a name for any value", "mluOpGetErrorString");
  int version[] = {-1, -1, -1};
  const int expected[] = {MLUOP_MAJOR, MLUOP_MINOR, MLUOP_PATCHLEVEL};
  const int skipped = bytes.Below(4);
  mluOpGetLibVersion(skipped == 0 ? nullptr : &version[0], skipped == 1 ? nullptr : &version[1],
                     skipped == 2 ? nullptr : &version[2]);
  for (int i = 0; i < 3; ++i) {
    Require(version[i] == (i == skipped ? -1 : expected[i]), "must skip NULL",
            "mluOpGetLibVersion");
  }
}

void Run(Bytes bytes) {
  // Set before the first call, which reads it: the result is then the same on every machine.
  static const int set =
      setenv("MLUOP_VISIBLE_DEVICES", "cpu", 1) |
      setenv("MLUOP_NUM_THREADS", std::to_string(LiveHandles::kThreads).c_str(), 1);
  Require(set == 0, "must be set", "environment");
  LiveHandles handles;
  Memory blocks[kCount];
  Notifier notifiers[kCount];
  while (!bytes.empty()) {
    switch (bytes.Below(8)) {
      case 0: StepDevice(bytes); break;
      case 1: StepLibrary(bytes); break;
      case 2: StepNotifier(notifiers, handles.AnyQueue(bytes), bytes); break;
      case 3:
      case 4: StepMemory(blocks, handles.AnyQueue(bytes), bytes); break;
      default: handles.Step(bytes);
    }
  }
  for (const Notifier& one : notifiers) {
    if (one.notifier != nullptr) cnrtNotifierDestroy(one.notifier);
  }
}

}  // namespace
}  // namespace mluop::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mluop::fuzz::Run({data, size});
  return 0;
}
