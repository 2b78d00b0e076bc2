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
#include <string_view>

#include "core/error.h"

namespace mluop {
namespace {

void KeepMessage(mluOpStatus_t status, const char* sentence) {
  static_cast<void>(Fail(status, "%s", sentence));
}

constexpr HostFunctions kHostFunctions = {KeepMessage};

// Whether parts of an ELF file, as its headers tell them, lie beyond its end. The system's loader
// maps them all the same, and then the process dies of SIGBUS.
bool IsCutShort(const char* path) {
  struct stat status = {};
  // The system looks for a mere name elsewhere; and a pipe would wait for a writer.
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

// The one that MLUOP_CUDA_LIBRARY names; else, if there is one, that beside the file that this code
// lies in; else wherever the system looks for libraries. A set-uid program must not run what its
// caller names.
void FindFile(char* path, int size) {
  if (const char* const named = secure_getenv("MLUOP_CUDA_LIBRARY")) {
    snprintf(path, static_cast<size_t>(size), "%s", named);
    return;
  }
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&KeepMessage), &here) != 0 && here.dli_fname != nullptr) {
    const char* const slash = std::strrchr(here.dli_fname, '/');
    const int folder = slash == nullptr ? 0 : static_cast<int>(slash + 1 - here.dli_fname);
    const int length = snprintf(path, static_cast<size_t>(size), "%.*s%s", folder, here.dli_fname,
                                kCudaLibraryFile);
    if (folder > 0 && length < size && access(path, F_OK) == 0) return;
  }
  snprintf(path, static_cast<size_t>(size), "%s", kCudaLibraryFile);
}

// Cut where it does not fit.
CudaLibrary Without(const char* reason, const char* detail) {
  CudaLibrary none = {};
  std::string_view(reason).copy(none.fault, sizeof(none.fault) - 1);
  const size_t used = std::strlen(none.fault);
  std::string_view(detail == nullptr ? "" : detail)
      .copy(none.fault + used, sizeof(none.fault) - 1 - used);
  return none;
}

CudaLibrary Load() {
  char path[PATH_MAX];
  FindFile(path, sizeof(path));
  if (IsCutShort(path)) return Without(path, ": file is cut short");
  void* const library = dlopen(path, RTLD_NOW);  // stays: kernels run until the process ends
  if (library == nullptr) return Without("", dlerror());
  const auto entry = reinterpret_cast<CudaLibraryEntry>(dlsym(library, kCudaLibraryEntry));
  if (entry == nullptr) return Without(kCudaLibraryFile, " is no library of ours");
  const CudaLibrary* const loaded = entry(kCudaLibraryVersion, &kHostFunctions);
  if (loaded == nullptr) return Without(kCudaLibraryFile, " is of another version");
  return *loaded;
}

}  // namespace

const CudaLibrary& LoadedCudaLibrary() {
  static const CudaLibrary library = Load();
  return library;
}

}  // namespace mluop
