// SPDX-License-Identifier: Apache-2.0
// Lists the MLU families of op_list.inc: `const MluFamily <folder>::kMluFamily`. A family without MLU
// kernels defines none, and the weak reference is NULL.
#include "mlu/context.h"

namespace mluop {

#define MLUOP_FAMILY(folder)                       \
  namespace folder {                               \
  [[gnu::weak]] extern const MluFamily kMluFamily; \
  }
#include "ops/op_list.inc"
#undef MLUOP_FAMILY

std::span<const MluFamily* const> MluFamilies() {
  static const MluFamily* const families[] = {
#define MLUOP_FAMILY(folder) &folder::kMluFamily,
#include "ops/op_list.inc"
#undef MLUOP_FAMILY
  };
  return families;
}

}  // namespace mluop
