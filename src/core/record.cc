// SPDX-License-Identifier: Apache-2.0
// Writes recorded calls: <directory>/<op>/<op>_<pid>_<n>.txt with a case line, and the inputs in an
// .npz beside it. n counts the calls of the process. Existing files are never opened. The files are
// complete before the kernel runs, so a call that crashes is recorded too.
#include "core/record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/npz_writer.h"

namespace mluop {
namespace {

constexpr size_t kChunk = size_t{1} << 20;  // bytes copied from the device at a time
constexpr size_t kMaxLine = 1024;

// A failed write above the limit of RLIMIT_FSIZE also sends SIGXFSZ, which ends the process. Blocks
// the signal in this thread and discards it.
class FileSizeSignalBlock {
 public:
  FileSizeSignalBlock() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~FileSizeSignalBlock() {
    const timespec none = {};
    while (!was_pending_ && sigtimedwait(&signal_, nullptr, &none) < 0 && errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  FileSizeSignalBlock(const FileSizeSignalBlock&) = delete;
  FileSizeSignalBlock& operator=(const FileSizeSignalBlock&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_;
};

// A file that is being written. The destructor removes it unless Close succeeded.
class NewFile {
 public:
  NewFile() = default;
  ~NewFile() { Remove(); }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  char path[PATH_MAX] = "";

  [[gnu::format(printf, 2, 3)]] bool SetPath(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(path, sizeof(path), format, arguments);
    va_end(arguments);
    if (length >= PATH_MAX) errno = ENAMETOOLONG;
    return length < PATH_MAX;
  }
  // Fails if the file exists.
  bool Create() {
    file_ = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return file_ >= 0;
  }
  bool Close() {
    const bool closed = close(file_) == 0;
    file_ = -1;
    if (!closed) unlink(path);
    return closed;
  }
  void Remove() {
    if (file_ < 0) return;
    close(file_);
    unlink(path);
    file_ = -1;
  }
  int get() const { return file_; }

 private:
  int file_ = -1;
};

// Creates the directory and its parents.
bool CreateDirectories(char* path) {
  for (char* slash = std::strchr(path + 1, '/');; slash = std::strchr(slash + 1, '/')) {
    if (slash != nullptr) *slash = '\0';
    const bool created = mkdir(path, 0777) == 0 || errno == EEXIST;
    if (slash != nullptr) *slash = '/';
    if (!created || slash == nullptr) return created;
  }
}

class Recording {
 public:
  Recording(const Arguments& call, mluOpContext& handle) : call_(call), handle_(handle) {}

  void Run(bool with_data) {
    if (!Create(with_data)) return;
    char missing[160] = "";  // the reason why there are no data
    if (with_data && handle_.device->IsCapturing(handle_.queue)) {
      snprintf(missing, sizeof(missing), "the call was captured into a graph");
    } else if (with_data && !WriteData(missing, sizeof(missing))) {
      Report(data_.path, missing);
    }
    const bool has_data = with_data && missing[0] == '\0';
    if (!has_data) data_.Remove();
    if (WriteText(missing, has_data) && text_.Close()) return;
    const int error = errno;
    if (has_data) unlink(data_.path);
    Report(text_.path, strerrordesc_np(error));
  }

 private:
  void Report(const char* path, const char* reason) const {
    fprintf(stderr, "mluops: recording %.*s: cannot write %s: %s\n", MLUOP_SV(call_.spec->name),
            path, reason);
  }

  bool Create(bool with_data) {
    static std::atomic<uint64_t> count{0};
    char directory[kMaxRecordDirectory + 1];
    CopyRecordDirectory(directory);
    char folder[PATH_MAX];
    const std::string_view op = call_.spec->name;
    snprintf(folder, sizeof(folder), "%s/%.*s", directory, MLUOP_SV(op));
    if (!CreateDirectories(folder)) {
      Report(folder, strerrordesc_np(errno));
      return false;
    }
    const int pid = getpid();  // not cached: a fork changes it
    do {
      const auto n = static_cast<unsigned long long>(count.fetch_add(1));
      data_.Remove();
      if (text_.SetPath("%s/%.*s_%d_%llu.txt", folder, MLUOP_SV(op), pid, n) &&
          data_.SetPath("%s/%.*s_%d_%llu.npz", folder, MLUOP_SV(op), pid, n) &&
          (!with_data || data_.Create()) && text_.Create()) {
        return true;
      }
    } while (errno == EEXIST);
    Report(with_data && data_.get() < 0 ? data_.path : text_.path, strerrordesc_np(errno));
    return false;
  }

  // Returns false on failure and writes the reason.
  bool WriteData(char* reason, size_t size) {
    const std::unique_ptr<char, void (*)(void*)> chunk(static_cast<char*>(std::malloc(kChunk)),
                                                       std::free);
    if (chunk == nullptr) errno = ENOMEM;
    NpzWriter writer(data_.get());
    bool written = chunk != nullptr;
    cnrtRet_t copied = cnrtSuccess;
    for (int i = 0; i < call_.spec->tensor_count && written; ++i) {
      const TensorArgument& tensor = call_.tensors[i];
      if (call_.spec->tensors[i].direction != kIn || tensor.desc == nullptr) continue;
      written = writer.Begin(call_.spec->tensors[i].name, *tensor.desc);
      for (size_t done = 0, all = tensor.ByteCount(); written && done < all; done += kChunk) {
        const size_t bytes = std::min(kChunk, all - done);
        copied = Fetch(chunk.get(), static_cast<const char*>(tensor.data) + done, bytes);
        written = copied == cnrtSuccess && writer.Write(chunk.get(), bytes);
      }
      written = written && writer.End();
    }
    if (written && writer.Finish() && data_.Close()) return true;
    snprintf(reason, size, "%s",
             copied == cnrtSuccess ? strerrordesc_np(errno) : cnrtGetErrorStr(copied));
    return false;
  }

  cnrtRet_t Fetch(void* to, const void* from, size_t bytes) const {
    const cnrtRet_t copied = handle_.device->Copy(to, from, bytes, handle_.queue);
    return copied != cnrtSuccess ? copied : handle_.device->SynchronizeQueue(handle_.queue);
  }

  bool WriteText(const char* missing, bool has_data) {
    char line[kMaxLine], text[kMaxLine + 512];
    FormatCase(call_, line, sizeof(line));
    const Device& device = *handle_.device;
    const int length =
        snprintf(text, sizeof(text), "# Recorded by mluops %d.%d.%d on %s (%s).\n%s%s%s%s%s\n",
                 MLUOP_MAJOR, MLUOP_MINOR, MLUOP_PATCHLEVEL, device.name(), device.architecture(),
                 missing[0] == '\0' ? "" : "# No data: ", missing, missing[0] == '\0' ? "" : ".\n",
                 line, has_data ? " data=file" : "");
    const auto size = static_cast<size_t>(length);
    ssize_t written = 0;
    do written = write(text_.get(), text, size);
    while (written < 0 && errno == EINTR);
    if (written >= 0 && written < length) errno = ENOSPC;
    return written == length;
  }

  const Arguments& call_;
  mluOpContext& handle_;
  NewFile text_, data_;
};

}  // namespace

void RecordCall(const Arguments& call, mluOpContext& handle, RecordMode mode) {
  if (!IsRecorded(call.spec->name)) return;
  if (mode == RecordMode::kScreen) {
    char line[kMaxLine];
    FormatCase(call, line, sizeof(line));
    fprintf(stderr, "%s  # recorded on %s\n", line, handle.device->name());
    return;
  }
  const FileSizeSignalBlock block;
  Recording(call, handle).Run(mode == RecordMode::kData);
}

}  // namespace mluop
