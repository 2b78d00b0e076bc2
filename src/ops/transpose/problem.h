// SPDX-License-Identifier: Apache-2.0
// transpose: the matrices of a call, input [N, A, B] and output [N, B, A].
#pragma once

#include "core/transposed.h"

namespace mluop::transpose {

inline Matrices MakeProblem(const Arguments& arguments) {
  return {arguments.Symbol("N"), arguments.Symbol("A"), arguments.Symbol("B"),
          SizeOf(arguments.Type())};
}

}  // namespace mluop::transpose
