// SPDX-License-Identifier: Apache-2.0
// Qualifiers, built-in variables, memory sizes and scalar functions of BANG C.
#pragma once

#include <cmath>
#include <cstdio>

#include "bang/instruction.h"
#include "mluops/runtime.h"

#define __BANG__ 1

// Sizes in KB, as the BANG compiler defines them. The host pass has the values of mtp_592.
#if !defined(__BANG_ARCH__) || __BANG_ARCH__ == 290 || __BANG_ARCH__ == 592
#define __MLU_NRAM_SIZE__ 512
#define __MLU_WRAM_SIZE__ 512
#define __MLU_SRAM_SIZE__ 2048
#elif __BANG_ARCH__ == 372
#define __MLU_NRAM_SIZE__ 768
#define __MLU_WRAM_SIZE__ 1024
#define __MLU_SRAM_SIZE__ 4096
#else
#error "the simulated MLU knows the memory sizes of __BANG_ARCH__ 290, 372 and 592 only"
#endif

// The code of the three architectures is in one library: internal linkage and inlining keep it
// apart.
#define __mlu_global__ [[maybe_unused]] static
#define __mlu_entry__ __mlu_global__
#define __mlu_func__ inline __attribute__((always_inline))
#define __mlu_builtin__ __mlu_func__
#define __mlu_vector__ __mlu_func__
#define __mlu_device__ [[maybe_unused]] static
#define __mlu_const__ [[maybe_unused]] static
#define __mlu_host__

// A declaration of on-chip memory starts with one of these: bang_translate turns it into a
// reference to the memory of the running core. Before a pointer or a parameter they mean nothing.
#define __nram__
#define __wram__
#define __ldram__
#define __mlu_shared__
#define __bang_nram__(name) __bang_on_chip__(name, ::bang::Space::kNram)
#define __bang_wram__(name) __bang_on_chip__(name, ::bang::Space::kWram)
#define __bang_ldram__(name) __bang_on_chip__(name, ::bang::Space::kLdram)
#define __bang_mlu_shared__(name) __bang_on_chip__(name, ::bang::Space::kSram)
// The address of `key` identifies the declaration, and the instance of a template it is in.
#define __bang_on_chip__(name, space)                                \
  ::bang::OnChip<decltype(name)>(space, #name, []() -> const void* { \
    static const char key = 0;                                       \
    return &key;                                                     \
  }())

namespace bang {

BANG_API void* DeclareOnChip(Space space, const char* name, const void* key, size_t bytes,
                             Where where);

template <class Reference>
Reference OnChip(Space space, const char* name, const void* key, Where where = Where()) {
  using Array = std::remove_reference_t<Reference>;
  return *static_cast<Array*>(DeclareOnChip(space, name, key, sizeof(Array), where));
}

// The built-in variables of a task.
struct BuiltIns {
  struct Grid {
    int x, y, z;
  };
  Grid dim, id;
  int core_dim, core_id, cluster_dim, cluster_id;

  int task_dim() const { return dim.x * dim.y * dim.z; }
  int task_id() const { return (id.z * dim.y + id.y) * dim.x + id.x; }
};
// `name`: the variable that is read, for messages.
BANG_API const BuiltIns& ReadBuiltIns(const char* name, BANG_WHERE);

BANG_API bool IsMemoryCore();
BANG_API Space SpaceOf(const void* pointer);

namespace intrinsics {

using std::isinf, std::isnan;  // the other functions of C are global

inline bool __is_mpu() { return IsMemoryCore(); }
inline bool __is_ipu() { return !__is_mpu(); }
inline bool __is_nram(const void* p) { return SpaceOf(p) == Space::kNram; }
inline bool __is_wram(const void* p) { return SpaceOf(p) == Space::kWram; }
inline bool __is_sram(const void* p) { return SpaceOf(p) == Space::kSram; }
inline bool __is_dram(const void* p) {
  return SpaceOf(p) == Space::kGdram || SpaceOf(p) == Space::kLdram;
}

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

#define taskDim ::bang::ReadBuiltIns("taskDim").task_dim()
#define taskDimX ::bang::ReadBuiltIns("taskDimX").dim.x
#define taskDimY ::bang::ReadBuiltIns("taskDimY").dim.y
#define taskDimZ ::bang::ReadBuiltIns("taskDimZ").dim.z
#define taskId ::bang::ReadBuiltIns("taskId").task_id()
#define taskIdX ::bang::ReadBuiltIns("taskIdX").id.x
#define taskIdY ::bang::ReadBuiltIns("taskIdY").id.y
#define taskIdZ ::bang::ReadBuiltIns("taskIdZ").id.z
#define coreDim ::bang::ReadBuiltIns("coreDim").core_dim
#define coreId ::bang::ReadBuiltIns("coreId").core_id
#define clusterDim ::bang::ReadBuiltIns("clusterDim").cluster_dim
#define clusterId ::bang::ReadBuiltIns("clusterId").cluster_id
