// SPDX-License-Identifier: Apache-2.0
// Scalar access by address space, printing, and the C functions of the device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bang/copy.h"

namespace bang {
namespace intrinsics {

#define BANG_SCALAR_ACCESS(name, space)                                                       \
  template <class T>                                                                          \
  T __load_##name(const T* address, BANG_WHERE) {                                             \
    Require(SpaceOf(address) == space, "__load_" #name, where, "address must be in " #name);  \
    return *address;                                                                          \
  }                                                                                           \
  template <class T>                                                                          \
  void __store_##name(T* address, Same<T> value, BANG_WHERE) {                                \
    Require(SpaceOf(address) == space, "__store_" #name, where, "address must be in " #name); \
    *address = value;                                                                         \
  }
BANG_SCALAR_ACCESS(gdram, kGdram)
BANG_SCALAR_ACCESS(nram, kNram)
BANG_SCALAR_ACCESS(sram, kSram)
BANG_SCALAR_ACCESS(ldram, kLdram)

#define __bang_printf(...) std::printf(__VA_ARGS__)

inline float __cn_scalar_sin_f32(float x) { return std::sin(x); }
inline float __cn_scalar_cos_f32(float x) { return std::cos(x); }
inline half __cn_scalar_sin_f16(half x) { return half(std::sin(static_cast<float>(x))); }
inline half __cn_scalar_cos_f16(half x) { return half(std::cos(static_cast<float>(x))); }

}  // namespace intrinsics
}  // namespace bang
