// SPDX-License-Identifier: Apache-2.0
// Lists the CPU families of op_list.inc: `const CpuFamily <folder>::kCpuFamily`.
#include "cpu/context.h"

namespace mluop {

#define MLUOP_FAMILY(folder)         \
  namespace folder {                 \
  extern const CpuFamily kCpuFamily; \
  }
#include "ops/op_list.inc"
#undef MLUOP_FAMILY

std::span<const CpuFamily* const> CpuFamilies() {
  static const CpuFamily* const families[] = {
#define MLUOP_FAMILY(folder) &folder::kCpuFamily,
#include "ops/op_list.inc"
#undef MLUOP_FAMILY
  };
  return families;
}

}  // namespace mluop
