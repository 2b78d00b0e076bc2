// SPDX-License-Identifier: Apache-2.0
// transpose: the sizes of a call, input [n, a, b] and output [n, b, a].
#pragma once

#include <cstdint>

#include "core/arguments.h"

namespace mluop::transpose {

struct Problem {
  int64_t n, a, b;
  bool half;
};

inline Problem MakeProblem(const Arguments& arguments) {
  return {arguments.Symbol("N"), arguments.Symbol("A"), arguments.Symbol("B"),
          arguments.Type() == MLUOP_DTYPE_HALF};
}

}  // namespace mluop::transpose
