// SPDX-License-Identifier: Apache-2.0
// Replaces src/cuda/kernel_handle.h: remembers how to call a kernel of this type.
#pragma once

#include <cstddef>
#include <utility>

namespace mluop {

using KernelCall = void (*)(const void* kernel, void** parameters);
void RegisterKernel(const void* kernel, KernelCall call);

template <typename... Parameters, size_t... kIndices>
void CallKernel(void (*kernel)(Parameters...), void** parameters,
                std::index_sequence<kIndices...>) {
  kernel(*static_cast<Parameters*>(parameters[kIndices])...);
}

template <typename... Parameters>
const void* KernelHandle(void (*kernel)(Parameters...)) {
  const auto handle = reinterpret_cast<const void*>(kernel);
  RegisterKernel(handle, [](const void* address, void** parameters) {
    CallKernel(reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(address)), parameters,
               std::index_sequence_for<Parameters...>());
  });
  return handle;
}

}  // namespace mluop
