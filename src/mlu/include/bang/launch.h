// SPDX-License-Identifier: Apache-2.0
// kernel<<<dim, type, queue>>>(...): bang_translate turns it into Launch<&kernel>(...)(...).
//
// A source is compiled once for the host and once per architecture. In every device pass, Site
// registers the kernel of its architecture when the program starts; the host pass looks it up.
#pragma once

#include <cstddef>
#include <typeinfo>
#include <utility>

#include "bang/instruction.h"
#include "mluops/runtime.h"

typedef struct {
  unsigned int x, y, z;
} cnrtDim3_t;

typedef enum {
  cnrtFuncTypeMutable = -1,
  cnrtFuncTypeBlock = 1,
  cnrtFuncTypeUnion1 = 4,
  cnrtFuncTypeUnion2 = 8,
  cnrtFuncTypeUnion4 = 16,
  cnrtFuncTypeUnion8 = 32,
  cnrtFuncTypeUnion16 = 64
} cnrtFunctionType_t;

namespace bang {

using Entry = void (*)(void* const* arguments);

// A kernel, for all passes of one source: the source's name and the mangled name of the kernel.
struct KernelKey {
  const char* source;
  const char* symbol;
};
BANG_API bool RegisterKernel(const KernelKey& key, int architecture, Entry entry);

struct LaunchSite {
  KernelKey key;
  const char* name;  // as the author wrote it: "kernel<T>"
  Where where;
};
// Runs all tasks. A failure is kept by the queue until cnrtQueueSync.
BANG_API void RunKernel(const LaunchSite& site, const cnrtDim3_t& dim, cnrtFunctionType_t type,
                        cnrtQueue_t queue, void* const* arguments);

template <auto kKernel>
struct Site {
  static KernelKey Key() { return {__BASE_FILE__, typeid(Site).name()}; }
#if defined(__BANG_ARCH__)
  // Returns a function that calls the kernel with the values at `arguments`.
  template <class... Ts>
  static Entry EntryOf(void (*)(Ts...)) {
    return [](void* const* arguments) {
      [arguments]<size_t... kIs>(std::index_sequence<kIs...>) {
        kKernel(*static_cast<Ts*>(arguments[kIs])...);
      }
      (std::index_sequence_for<Ts...>());
    };
  }
  static inline const bool kRegistered = RegisterKernel(Key(), __BANG_ARCH__, EntryOf(kKernel));
#endif
};

// Returns a function that launches a kernel with these parameters.
template <class... Ts>
auto Bind(void (*)(Ts...), const LaunchSite& site, const cnrtDim3_t& dim, cnrtFunctionType_t type,
          cnrtQueue_t queue) {
  return [=](Ts... values) {
    void* const arguments[] = {static_cast<void*>(&values)..., nullptr};
    RunKernel(site, dim, type, queue, arguments);
  };
}

template <auto kKernel>
auto Launch(const char* name, const cnrtDim3_t& dim, cnrtFunctionType_t type, cnrtQueue_t queue,
            Where where = Where()) {
#if defined(__BANG_ARCH__)
  static_cast<void>(Site<kKernel>::kRegistered);
#endif
  return Bind(kKernel, {Site<kKernel>::Key(), name, where}, dim, type, queue);
}

}  // namespace bang
