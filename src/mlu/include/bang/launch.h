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

template <auto kKernel>
class Launch {
 public:
  Launch(const char* name, const cnrtDim3_t& dim, cnrtFunctionType_t type, cnrtQueue_t queue,
         Where where = Where())
      : site_{Site<kKernel>::Key(), name, where}, dim_(dim), type_(type), queue_(queue) {
#if defined(__BANG_ARCH__)
    static_cast<void>(Site<kKernel>::kRegistered);
#endif
  }

  template <class... Values>
  void operator()(Values... values) const {
    Run(kKernel, values...);
  }

 private:
  template <class... Ts>
  void Run(void (*)(Ts...), Same<Ts>... values) const {
    void* const arguments[] = {const_cast<void*>(static_cast<const void*>(&values))..., nullptr};
    RunKernel(site_, dim_, type_, queue_, arguments);
  }

  LaunchSite site_;
  cnrtDim3_t dim_;
  cnrtFunctionType_t type_;
  cnrtQueue_t queue_;
};

}  // namespace bang
