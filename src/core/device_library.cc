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

// Whether an ELF file ends before the parts that its headers list. The system's loader maps such a
// file without complaint, and the process then dies of SIGBUS.
bool IsCutShort(const char* path) {
  struct stat status = {};
  // The system looks up a bare name elsewhere; opening a pipe would block.
  if (std::strchr(path, '/') == nullptr || stat(path, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return false;
  ElfW(Ehdr) header = {};
  const bool is_elf = std::fread(&header, sizeof(header), 1, file) == 1 &&
                      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  const auto size = static_cast<uint64_t>(status.st_size);
  const auto beyond = [size](uint64_t offset, uint64_t bytes) {
    return offset > size || bytes > size - offset;
  };
  bool cut = is_elf && (beyond(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize) ||
                        std::fseek(file, static_cast<long>(header.e_phoff), SEEK_SET) != 0);
  for (int i = 0; is_elf && !cut && i < header.e_phnum; ++i) {
    ElfW(Phdr) part = {};
    cut = std::fread(&part, sizeof(part), 1, file) != 1 || beyond(part.p_offset, part.p_filesz);
  }
  std::fclose(file);
  return cut;
}

// "libmluops_cuda.so"
struct FileName {
  char text[48];
  explicit FileName(std::string_view kind) {
    snprintf(text, sizeof(text), "libmluops_%.*s.so", MLUOP_SV(kind));
  }
};

// The file that MLUOP_<KIND>_LIBRARY names. A set-uid program ignores what its caller names.
const char* NamedFile(std::string_view kind) {
  char variable[48];
  const int length = snprintf(variable, sizeof(variable), "MLUOP_%.*s_LIBRARY", MLUOP_SV(kind));
  for (int i = 0; i < length; ++i) {
    if (variable[i] >= 'a' && variable[i] <= 'z')
      variable[i] = static_cast<char>(variable[i] - 'a' + 'A');
  }
  return secure_getenv(variable);
}

// The named file; else the one beside the file that holds this code, where that exists; else the
// bare name, which the system looks up.
void FindFile(std::string_view kind, char* path, int size) {
  if (const char* const named = NamedFile(kind)) {
    snprintf(path, static_cast<size_t>(size), "%s", named);
    return;
  }
  const FileName file(kind);
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&FindFile), &here) != 0 && here.dli_fname != nullptr) {
    const char* const slash = std::strrchr(here.dli_fname, '/');
    const int folder = slash == nullptr ? 0 : static_cast<int>(slash + 1 - here.dli_fname);
    const int length =
        snprintf(path, static_cast<size_t>(size), "%.*s%s", folder, here.dli_fname, file.text);
    if (folder > 0 && length < size && access(path, F_OK) == 0) return;
  }
  snprintf(path, static_cast<size_t>(size), "%s", file.text);
}

// A library without devices; the reason is cut where it does not fit.
DeviceLibrary Without(const char* reason, const char* detail) {
  DeviceLibrary none = {};
  std::string_view(reason).copy(none.fault, sizeof(none.fault) - 1);
  const size_t used = std::strlen(none.fault);
  std::string_view(detail == nullptr ? "" : detail)
      .copy(none.fault + used, sizeof(none.fault) - 1 - used);
  return none;
}

DeviceLibrary Load(std::string_view kind) {
  const FileName file(kind);
  char path[PATH_MAX];
  FindFile(kind, path, sizeof(path));
  if (IsCutShort(path)) return Without(path, ": file is cut short");
  void* const library = dlopen(path, RTLD_NOW);  // stays: kernels run until the process ends
  if (library == nullptr) return Without("", dlerror());
  const auto entry = reinterpret_cast<DeviceLibraryEntry>(dlsym(library, kDeviceLibraryEntry));
  if (entry == nullptr) {
    return Without(file.text,
                   " is not an mluops device library (symbol mluopsDeviceLibrary is missing)");
  }
  const DeviceLibraryHost host = {store_message, Tables()};
  const DeviceLibrary* const loaded = entry(kDeviceLibraryVersion, &host);
  if (loaded == nullptr) return Without(file.text, " is of another version");
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
  static const DeviceLibrary unknown = Without("", "too many kinds of devices");
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
