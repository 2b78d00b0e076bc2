// SPDX-License-Identifier: Apache-2.0
// The settings of recording, from the C functions and the environment. A set-uid program ignores
// the environment: it must not write files where its caller wants them.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/environment.h"
#include "core/error.h"
#include "core/operator.h"
#include "core/record.h"

namespace mluop {
namespace {

constexpr int kNotSet = -1;
constexpr std::string_view kDefaultDirectory = "gen_case";

std::atomic<int> set_mode{kNotSet};

// Values other than 0 to 3 mean off, as in MLU-OPS.
bool IsKnownMode(int mode) { return mode >= 0 && mode <= static_cast<int>(RecordMode::kScreen); }

int ModeOfEnvironment() {
  const char* const text = secure_getenv("MLUOP_GEN_CASE");
  if (text == nullptr || text[0] == '\0') return 0;
  if (const int mode = ParseLevel(text); IsKnownMode(mode)) return mode;
  ReportIgnored("MLUOP_GEN_CASE", "0, 1, 2 or 3", text);
  return 0;
}

// Returns the first name of a list "a;-b" and removes it. `is_excluded`: it had a minus.
std::string_view TakeName(std::string_view* list, bool* is_excluded) {
  const size_t end = std::min(list->find(';'), list->size());
  std::string_view name = list->substr(0, end);
  list->remove_prefix(std::min(end + 1, list->size()));
  *is_excluded = name.starts_with('-');
  if (*is_excluded) name.remove_prefix(1);
  return name;
}

// Returns MLUOP_GEN_CASE_OP_NAME. Reports unknown names: they match no operator.
std::string_view NamesOfEnvironment() {
  const char* const text = secure_getenv("MLUOP_GEN_CASE_OP_NAME");
  const std::string_view names = text == nullptr ? "" : text;
  for (std::string_view rest = names; !rest.empty();) {
    bool is_excluded = false;
    const std::string_view name = TakeName(&rest, &is_excluded);
    const bool is_known = std::any_of(Tables().begin(), Tables().end(),
                                      [name](const OpSpec* table) { return table->name == name; });
    if (!name.empty() && !is_known) {
      ReportIgnored("MLUOP_GEN_CASE_OP_NAME", "a list of operators", name);
    }
  }
  return names;
}

struct Directory {
  std::mutex mutex;
  size_t length = 0;
  char path[kMaxRecordDirectory + 1] = "";

  Directory() {
    const char* const text = secure_getenv("MLUOP_GEN_CASE_DIR");
    const std::string_view wanted = text == nullptr ? "" : text;
    const bool fits = wanted.size() <= kMaxRecordDirectory;
    if (!fits) ReportIgnored("MLUOP_GEN_CASE_DIR", "at most 3840 characters", wanted);
    Set(wanted.empty() || !fits ? kDefaultDirectory : wanted);
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
  static const std::string_view names = NamesOfEnvironment();
  bool only_named = false;
  for (std::string_view rest = names; !rest.empty();) {
    bool is_excluded = false;
    const std::string_view name = TakeName(&rest, &is_excluded);
    if (name == op) return !is_excluded;
    only_named |= !is_excluded && !name.empty();
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

void mluOpSetGenCaseMode(int mode) {
  set_mode.store(IsKnownMode(mode) ? mode : 0, std::memory_order_relaxed);
}

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
