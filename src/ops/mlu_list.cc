// SPDX-License-Identifier: Apache-2.0
// Collects the MLU kernels of the families of op_list.inc: `const MluFamily <folder>::kMluFamily`.
// A family without MLU kernels defines none, and the weak reference is NULL.
#include <vector>

#include "mlu/context.h"

namespace mluop {

#define MLUOP_FAMILY(folder)                       \
  namespace folder {                               \
  [[gnu::weak]] extern const MluFamily kMluFamily; \
  }
#include "ops/op_list.inc"
#undef MLUOP_FAMILY

std::span<const MluFamily* const> MluFamilies() {
  static const std::vector<const MluFamily*> families = [] {
    const MluFamily* const all[] = {
#define MLUOP_FAMILY(folder) &folder::kMluFamily,
#include "ops/op_list.inc"
#undef MLUOP_FAMILY
    };
    std::vector<const MluFamily*> present;
    for (const MluFamily* family : all) {
      if (family != nullptr) present.push_back(family);
    }
    return present;
  }();
  return families;
}

}  // namespace mluop
