// SPDX-License-Identifier: Apache-2.0
// Lists the CUDA families of op_list.inc: `const CudaFamily <folder>::kCudaFamily`.
#include "cuda/context.h"

namespace mluop {

#define MLUOP_FAMILY(folder)           \
  namespace folder {                   \
  extern const CudaFamily kCudaFamily; \
  }
#include "ops/op_list.inc"
#undef MLUOP_FAMILY

std::span<const CudaFamily* const> CudaFamilies() {
  static const CudaFamily* const families[] = {
#define MLUOP_FAMILY(folder) &folder::kCudaFamily,
#include "ops/op_list.inc"
#undef MLUOP_FAMILY
  };
  return families;
}

}  // namespace mluop
