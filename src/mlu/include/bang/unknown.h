// SPDX-License-Identifier: Apache-2.0
// Intrinsics whose behaviour is not known well enough to simulate. A call does not compile, and the
// message says why. Intrinsics that BANG C does not document are not declared at all.
#pragma once

#include <cstddef>

namespace bang::intrinsics {

#define BANG_UNKNOWN(name, reason)                                                \
  template <class... Ts>                                                          \
  void name(Ts...) {                                                              \
    static_assert(sizeof...(Ts) == ~size_t{0}, #name ": not simulated: " reason); \
  }
// One form of an intrinsic whose other forms are simulated.
#define BANG_UNKNOWN_FORM(name, Types, reason, ...)                  \
  template <Types T>                                                 \
  void name(__VA_ARGS__) {                                           \
    static_assert(sizeof(T) == 0, #name ": not simulated: " reason); \
  }
#define BANG_RM "two descriptions of the rounding disagree"
#define BANG_SR "stochastic rounding is not reproducible"

#define BANG_SPLIT "which cores `count` counts, and when an id may be used again, is not described"
BANG_UNKNOWN(__sync_cluster_arrive, BANG_SPLIT)
BANG_UNKNOWN(__sync_cluster_wait, BANG_SPLIT)
BANG_UNKNOWN(__sync_all_arrive, BANG_SPLIT)
BANG_UNKNOWN(__sync_all_wait, BANG_SPLIT)
BANG_UNKNOWN(__bang_incseq, "the architectures that have it are not known")
BANG_UNKNOWN(__cn_vector_sin_f32, "its argument list is not known")

}  // namespace bang::intrinsics
