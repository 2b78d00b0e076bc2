// SPDX-License-Identifier: Apache-2.0
#include "core/cuda_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/error.h"

namespace mluop {
namespace {

void KeepMessage(mluOpStatus_t status, const char* sentence) {
  static_cast<void>(Fail(status, "%s", sentence));
}

constexpr HostFunctions kHostFunctions = {KeepMessage};

// The one that MLUOP_CUDA_LIBRARY names; else, if there is one, that beside the file that this code
// lies in; else wherever the system looks for libraries. NULL leaves dlerror(). A set-uid program
// must not run what its caller names.
void* Open() {
  if (const char* const named = secure_getenv("MLUOP_CUDA_LIBRARY")) return dlopen(named, RTLD_NOW);
  Dl_info here;
  char path[4096];
  if (dladdr(reinterpret_cast<void*>(&KeepMessage), &here) != 0 && here.dli_fname != nullptr) {
    const char* const slash = std::strrchr(here.dli_fname, '/');
    const int folder = slash == nullptr ? 0 : static_cast<int>(slash + 1 - here.dli_fname);
    const int length =
        snprintf(path, sizeof(path), "%.*s%s", folder, here.dli_fname, kCudaLibraryFile);
    const bool whole = folder > 0 && length < static_cast<int>(sizeof(path));
    if (whole && access(path, F_OK) == 0) return dlopen(path, RTLD_NOW);
  }
  return dlopen(kCudaLibraryFile, RTLD_NOW);
}

CudaLibrary Without(const char* reason, const char* detail) {
  CudaLibrary none = {};
  snprintf(none.fault, sizeof(none.fault), "%s%s", reason, detail == nullptr ? "" : detail);
  return none;
}

CudaLibrary Load() {
  void* const library = Open();  // stays: kernels run until the process ends
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
