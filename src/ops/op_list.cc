// SPDX-License-Identifier: Apache-2.0
// All families, from op_list.inc. Each defines `const Family <folder>::kFamily`.
#include "core/operator.h"

namespace mluop {

#define MLUOP_FAMILY(folder)   \
  namespace folder {           \
  extern const Family kFamily; \
  }
#include "ops/op_list.inc"
#undef MLUOP_FAMILY

std::span<const Family* const> Families() {
  static const Family* const families[] = {
#define MLUOP_FAMILY(folder) &folder::kFamily,
#include "ops/op_list.inc"
#undef MLUOP_FAMILY
  };
  return families;
}

}  // namespace mluop
