// SPDX-License-Identifier: Apache-2.0
// Intrinsics whose behaviour is not known well enough to simulate. A call does not compile, and the
// message says why. Intrinsics that BANG C does not document are not declared at all.
#pragma once

#define BANG_UNKNOWN(name, reason)                                                \
  template <class... Ts>                                                          \
  void name(Ts...) {                                                              \
    static_assert(sizeof...(Ts) == ~size_t{0}, #name ": not simulated: " reason); \
  }
#define BANG_UNKNOWN_ACTIVE(name) \
  BANG_UNKNOWN(__bang_active_##name, "a table-driven approximation of unknown accuracy")
BANG_UNKNOWN_ACTIVE(abs)
BANG_UNKNOWN_ACTIVE(sign)
BANG_UNKNOWN_ACTIVE(exphp)
BANG_UNKNOWN_ACTIVE(reciphp)
BANG_UNKNOWN_ACTIVE(sqrthp)
#undef BANG_UNKNOWN_ACTIVE
BANG_UNKNOWN(__sync_cluster_arrive, "the reuse of an id of a split barrier is not described")
BANG_UNKNOWN(__sync_cluster_wait, "the reuse of an id of a split barrier is not described")
BANG_UNKNOWN(__sync_all_arrive, "the reuse of an id of a split barrier is not described")
BANG_UNKNOWN(__sync_all_wait, "the reuse of an id of a split barrier is not described")
BANG_UNKNOWN(__bang_max, "deprecated; write __bang_argmax")
BANG_UNKNOWN(__bang_min, "deprecated; write __bang_argmin")
BANG_UNKNOWN(__bang_maxpool_index, "the layout of the index is described for one use only")
BANG_UNKNOWN(__bang_maxpool_value_index, "the layout of the index is described for one use only")
BANG_UNKNOWN(__bang_gather_async, "the direction is implied by rules that are not described")
BANG_UNKNOWN(__bang_incseq, "the architectures that have it are not known")
BANG_UNKNOWN(__bang_float2half_rm, "two descriptions of the rounding disagree")
BANG_UNKNOWN(__bang_float2int32_rm, "two descriptions of the rounding disagree")
BANG_UNKNOWN(__bang_float2half_sr, "stochastic rounding is not reproducible")
BANG_UNKNOWN(__cn_vector_sin_f32, "its argument list is not known")
BANG_UNKNOWN(__bang_atomic_reduce_cas, "not simulated yet")
#undef BANG_UNKNOWN
