// SPDX-License-Identifier: Apache-2.0
#include "core/device_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/operator.h"

namespace mluop {
namespace {

constexpr size_t kMaxKinds = 8;
constexpr size_t kMaxKindBytes = 15;

// Returns whether an ELF file ends before the segments that its headers list. The dynamic loader
// maps such a file without an error, and SIGBUS then kills the process.
bool IsTruncated(const char* path) {
  struct stat status = {};
  // The loader searches its paths for a bare name. Opening a pipe would block.
  if (std::strchr(path, '/') == nullptr || stat(path, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return false;
  ElfW(Ehdr) header = {};
  const bool is_elf = std::fread(&header, sizeof(header), 1, file) == 1 &&
                      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  const auto size = static_cast<uint64_t>(status.st_size);
  const auto exceeds_file = [size](uint64_t offset, uint64_t bytes) {
    return offset > size || bytes > size - offset;
  };
  bool truncated =
      is_elf && (exceeds_file(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize) ||
                 std::fseek(file, static_cast<long>(header.e_phoff), SEEK_SET) != 0);
  for (int i = 0; is_elf && !truncated && i < header.e_phnum; ++i) {
    ElfW(Phdr) segment = {};
    truncated = std::fread(&segment, sizeof(segment), 1, file) != 1 ||
                exceeds_file(segment.p_offset, segment.p_filesz);
  }
  std::fclose(file);
  return truncated;
}

// "libmluops_cuda.so"
struct FileName {
  char text[48];
  explicit FileName(std::string_view kind) {
    snprintf(text, sizeof(text), "libmluops_%.*s.so", MLUOP_SV(kind));
  }
};

// Returns the file that MLUOP_<KIND>_LIBRARY names. A set-uid program ignores the variable.
const char* NamedFile(std::string_view kind) {
  char variable[48];
  const int length = snprintf(variable, sizeof(variable), "MLUOP_%.*s_LIBRARY", MLUOP_SV(kind));
  for (int i = 0; i < length; ++i) {
    if (variable[i] >= 'a' && variable[i] <= 'z')
      variable[i] = static_cast<char>(variable[i] - 'a' + 'A');
  }
  return secure_getenv(variable);
}

// Writes the path that NamedFile returns; else a path in the folder of this library, if the file
// exists; else the bare name, which the loader searches for.
void FindFile(std::string_view kind, char (&path)[PATH_MAX]) {
  if (const char* const named = NamedFile(kind)) {
    snprintf(path, sizeof(path), "%s", named);
    return;
  }
  const FileName file(kind);
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&FindFile), &here) != 0 && here.dli_fname != nullptr) {
    const char* const slash = std::strrchr(here.dli_fname, '/');
    const int folder = slash == nullptr ? 0 : static_cast<int>(slash + 1 - here.dli_fname);
    const int length = snprintf(path, sizeof(path), "%.*s%s", folder, here.dli_fname, file.text);
    if (folder > 0 && length < PATH_MAX && access(path, F_OK) == 0) return;
  }
  snprintf(path, sizeof(path), "%s", file.text);
}

// Returns a library without devices. The reason is truncated if it does not fit.
DeviceLibrary EmptyLibrary(const char* reason, const char* detail) {
  DeviceLibrary none = {};
  TextWriter(none.error).Add("%s%s", reason, detail == nullptr ? "" : detail);
  return none;
}

DeviceLibrary Load(std::string_view kind) {
  const FileName file(kind);
  char path[PATH_MAX];
  FindFile(kind, path);
  if (IsTruncated(path)) return EmptyLibrary(path, ": file is truncated");
  void* const library = dlopen(path, RTLD_NOW);  // never closed: kernels may run until exit
  if (library == nullptr) return EmptyLibrary("", dlerror());
  const auto entry = reinterpret_cast<DeviceLibraryEntry>(dlsym(library, kDeviceLibraryEntry));
  if (entry == nullptr) {
    return EmptyLibrary(file.text,
                        " is not an mluops device library (symbol mluopsDeviceLibrary is missing)");
  }
  const DeviceLibraryHost host = {store_message, Tables()};
  const DeviceLibrary* const loaded = entry(kDeviceLibraryVersion, &host);
  if (loaded == nullptr) return EmptyLibrary(file.text, ": version does not match libmluops.so");
  return *loaded;
}

}  // namespace

const DeviceLibrary& LoadDeviceLibrary(std::string_view kind) {
  struct Loaded {
    char kind[kMaxKindBytes + 1];
    DeviceLibrary library;
  };
  static std::mutex mutex;
  static Loaded all[kMaxKinds] = {};
  static const DeviceLibrary unknown = EmptyLibrary("", "too many kinds of devices");
  const std::lock_guard<std::mutex> lock(mutex);
  if (kind.empty() || kind.size() > kMaxKindBytes) return unknown;
  for (Loaded& entry : all) {
    if (kind == entry.kind) return entry.library;
    if (entry.kind[0] != '\0') continue;
    entry.library = Load(kind);
    kind.copy(entry.kind, kMaxKindBytes);
    return entry.library;
  }
  return unknown;
}

}  // namespace mluop
