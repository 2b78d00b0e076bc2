// SPDX-License-Identifier: Apache-2.0
// The settings of recording, from the C functions and the environment. A set-uid program ignores
// the environment: it must not write files where its caller wants them.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/error.h"
#include "core/record.h"

namespace mluop {
namespace {

constexpr int kNotSet = -1;
constexpr std::string_view kDefaultDirectory = "gen_case";

std::atomic<int> set_mode{kNotSet};

// Values other than 0 to 3 mean off, as in MLU-OPS.
int KnownMode(long mode) {
  const long last = static_cast<long>(RecordMode::kScreen);
  return mode >= 0 && mode <= last ? static_cast<int>(mode) : 0;
}

int ModeOfEnvironment() {
  const char* const text = secure_getenv("MLUOP_GEN_CASE");
  if (text == nullptr) return 0;
  char* end = nullptr;
  const long mode = std::strtol(text, &end, 10);
  return end == text || *end != '\0' ? 0 : KnownMode(mode);
}

struct Directory {
  std::mutex mutex;
  size_t length = 0;
  char path[kMaxRecordDirectory + 1] = "";

  Directory() {
    const char* const text = secure_getenv("MLUOP_GEN_CASE_DIR");
    const size_t size = text == nullptr ? 0 : std::strlen(text);
    Set(size == 0 || size > kMaxRecordDirectory ? kDefaultDirectory : std::string_view(text));
  }
  void Set(std::string_view text) {
    length = text.copy(path, kMaxRecordDirectory);
    path[length] = '\0';
  }
};

Directory& TheDirectory() {
  static Directory directory;
  return directory;
}

}  // namespace

RecordMode CurrentRecordMode() {
  const int mode = set_mode.load(std::memory_order_relaxed);
  if (mode != kNotSet) return static_cast<RecordMode>(mode);
  static const int of_environment = ModeOfEnvironment();
  return static_cast<RecordMode>(of_environment);
}

bool IsRecorded(std::string_view op) {
  static const char* const text = secure_getenv("MLUOP_GEN_CASE_OP_NAME");
  std::string_view rest = text == nullptr ? "" : text;
  bool only_named = false;
  while (!rest.empty()) {
    const size_t end = rest.find(';');
    std::string_view name = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const bool excluded = name.starts_with('-');
    if (excluded) name.remove_prefix(1);
    if (name == op) return !excluded;
    only_named |= !excluded && !name.empty();
  }
  return !only_named;
}

size_t CopyRecordDirectory(char (&path)[kMaxRecordDirectory + 1]) {
  Directory& directory = TheDirectory();
  const std::lock_guard<std::mutex> lock(directory.mutex);
  std::memcpy(path, directory.path, directory.length + 1);
  return directory.length;
}

}  // namespace mluop

using namespace mluop;

void mluOpSetGenCaseMode(int mode) { set_mode.store(KnownMode(mode), std::memory_order_relaxed); }

mluOpStatus_t mluOpSetGenCaseDirectory(const char* path) {
  if (path == nullptr) return FailNull(__func__, "path");
  const size_t length = strnlen(path, kMaxRecordDirectory + 1);
  if (length == 0 || length > kMaxRecordDirectory) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: path must have 1 to %zu characters, got %s", __func__,
                kMaxRecordDirectory, length == 0 ? "none" : "more");
  }
  Directory& directory = TheDirectory();
  const std::lock_guard<std::mutex> lock(directory.mutex);
  directory.Set({path, length});
  return MLUOP_STATUS_SUCCESS;
}

const char* mluOpGetGenCaseDirectory(char* buffer, size_t bufferSize, size_t* pathLen,
                                     mluOpStatus_t* status) {
  char path[kMaxRecordDirectory + 1];
  const size_t length = CopyRecordDirectory(path);
  mluOpStatus_t result = MLUOP_STATUS_SUCCESS;
  char* to = buffer;
  if (buffer != nullptr && bufferSize <= length) {
    result = Fail(MLUOP_STATUS_BAD_PARAM, "%s: bufferSize must be at least %zu, got %zu", __func__,
                  length + 1, bufferSize);
    to = nullptr;
  } else if (buffer == nullptr && (to = static_cast<char*>(std::malloc(length + 1))) == nullptr) {
    result = Fail(MLUOP_STATUS_ALLOC_FAILED, "%s: out of memory", __func__);
  }
  if (to != nullptr) std::memcpy(to, path, length + 1);
  if (pathLen != nullptr) *pathLen = length;
  if (status != nullptr) *status = result;
  return to;
}
