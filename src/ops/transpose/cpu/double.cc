// SPDX-License-Identifier: Apache-2.0
// transpose on the CPU, implementation "double": squares of 8 x 8, whose rows are cache lines.
#include "ops/transpose/cpu/double.h"

#include "cpu/double.h"

namespace mluop::transpose {

mluOpStatus_t RunDouble(const CpuCall<Problem>& call, void*) {
  constexpr int64_t kSide = 8;
  const Problem& p = call.p;
  const auto* input = call.arguments.In<uint64_t>("input");
  auto* output = call.arguments.Out<uint64_t>("output");
  const int64_t down = (p.a + kSide - 1) / kSide, across = (p.b + kSide - 1) / kSide;
  const auto transpose = [&](int64_t matrix, int64_t first_a, int64_t first_b) {
    const uint64_t* const from = input + matrix * p.a * p.b;
    uint64_t* const to = output + matrix * p.a * p.b;
    for (int64_t b = first_b; b < std::min(first_b + kSide, p.b); ++b) {
      for (int64_t a = first_a; a < std::min(first_a + kSide, p.a); ++a) {
        to[b * p.a + a] = from[a * p.b + b];
      }
    }
  };
  call.context.threads().For(p.n * down * across, GrainFor(kSide * kSide),
                             [&](int64_t begin, int64_t end, int) {
                               for (int64_t square = begin; square < end; ++square) {
                                 const int64_t row = square / across;
                                 transpose(row / down, row % down * kSide, square % across * kSide);
                               }
                             });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::transpose
