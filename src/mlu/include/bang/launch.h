// SPDX-License-Identifier: Apache-2.0
// kernel<<<dim, type, queue>>>(...): bang_translate turns it into a call of
// Kernel<&kernel>::Launch(...).
//
// A source is compiled once for the host and once per architecture. In every device pass, Kernel
// registers the kernel of its architecture when the program starts; the host pass looks it up.
#pragma once

#include <string>
#include <tuple>
#include <typeinfo>

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

// Calls a kernel; `arguments` is a std::tuple of its parameters.
using Entry = void (*)(const void* arguments);

// `kernel` is the same in all passes of one source.
BANG_API bool RegisterKernel(const std::string& kernel, int architecture, Entry entry);

struct LaunchSite {
  std::string kernel;  // as it was registered
  const char* name;    // as the author wrote it: "kernel<T>"
  cnrtDim3_t dim;
  cnrtFunctionType_t type;
  cnrtQueue_t queue;
  Where where;
};
// Runs all tasks. A failure is kept by the queue until cnrtQueueSync.
BANG_API void RunKernel(const LaunchSite& site, const void* arguments);

template <auto kKernel>
struct Kernel;
template <class... Ts, void (*kKernel)(Ts...)>
struct Kernel<kKernel> {
  using Arguments = std::tuple<Ts...>;

  // The source's name and the mangled name of the kernel.
  static std::string Key() { return std::string(__BASE_FILE__ ": ") + typeid(Kernel).name(); }
#if defined(__BANG_ARCH__)
  static void Enter(const void* arguments) {
    std::apply(kKernel, *static_cast<const Arguments*>(arguments));
  }
  static inline const bool kRegistered = RegisterKernel(Key(), __BANG_ARCH__, Enter);
#else
  static constexpr bool kRegistered = false;
#endif
  // Returns a function that launches the kernel.
  static auto Launch(const char* name, const cnrtDim3_t& dim, cnrtFunctionType_t type,
                     cnrtQueue_t queue, Where where = Where()) {
    static_cast<void>(kRegistered);
    return [=](Ts... values) {
      const Arguments arguments(values...);
      RunKernel({Key(), name, dim, type, queue, where}, &arguments);
    };
  }
};

}  // namespace bang
