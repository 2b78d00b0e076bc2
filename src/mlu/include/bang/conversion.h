// SPDX-License-Identifier: Apache-2.0
// Conversions: __bang_<from>2<to>[_mode](dst, src, n [, fix_position]) for vectors and
// __<from>2<to>[_mode](x) for scalars. Without a mode they round toward zero.
#pragma once

#include "bang/copy.h"
#include "bang/unknown.h"

namespace bang {

template <class To, class From>
void Convert(const Instruction& instruction, To* d, const From* s, unsigned n, int scale,
             Round mode, bool may_alias, Where where) {
  if (scale < -127 || scale > 127)
    Violate(instruction.name, where, "fix_position must be in [-127, 127], got %d", scale);
  const auto f = [=](From x) { return RoundedTo<To>(std::ldexp(double(x), scale), mode); };
  Map(instruction, where, d, n, f, In("src", s, n, may_alias));
}

namespace intrinsics {

// Calls X(suffix, rounding, gate, ...) for every rounding mode; `gate` is that of the family.
#define BANG_EACH_MODE(X, gate, ...) \
  X(, kTz, gate, __VA_ARGS__)        \
  X(_tz, kTz, gate, __VA_ARGS__)     \
  X(_oz, kOz, gate, __VA_ARGS__)     \
  X(_up, kUp, gate, __VA_ARGS__)     \
  X(_dn, kDn, gate, __VA_ARGS__)     \
  X(_rd, kRd, gate, __VA_ARGS__)     \
  X(_rn, kRn, kFrom322, __VA_ARGS__)

// sign: -, to integers: s * 2^-fix_position; +, from integers: s * 2^fix_position.
#define BANG_CONVERT(suffix, mode, gate, name, From, To, sign, alias, rule)                    \
  inline void name##suffix(To* d, const From* s, unsigned n, int fix_position, BANG_WHERE) {   \
    Convert({#name #suffix, kConversion, rule, gate}, d, s, n, sign fix_position, Round::mode, \
            alias, where);                                                                     \
  }
#define BANG_CONVERT_MODES(name, gate, ...)             \
  BANG_EACH_MODE(BANG_CONVERT, gate, name, __VA_ARGS__) \
  BANG_UNKNOWN(name##_rm, BANG_RM)                      \
  BANG_UNKNOWN(name##_sr, BANG_SR)
BANG_CONVERT_MODES(__bang_float2int32, kFrom322, float, int, -, kAlias, kNoRule)
BANG_CONVERT_MODES(__bang_half2int32, kFrom322, half, int, -, kNoAlias, kNoRule)
BANG_CONVERT_MODES(__bang_int322float, kFrom322, int, float, +, kAlias, kNoRule)
BANG_CONVERT_MODES(__bang_int322half, kFrom322, int, half, +, kAlias, kNoRule)
BANG_CONVERT_MODES(__bang_float2int16, kEverywhere, float, short, -, kAlias, k2xx)
BANG_CONVERT_MODES(__bang_half2int16, kEverywhere, half, short, -, kAlias, k2xx)
BANG_CONVERT_MODES(__bang_half2int8, kEverywhere, half, signed char, -, kAlias, k2xx)
BANG_CONVERT(, kTz, kEverywhere, __bang_int162float, short, float, +, kNoAlias, k2xx)
BANG_CONVERT(, kTz, kEverywhere, __bang_int82float, signed char, float, +, kNoAlias, k2xx)
BANG_CONVERT(, kTz, kEverywhere, __bang_uint322float, unsigned, float, +, kNoAlias, k2xx)

// Between float and half: no fix_position. The strided form converts segnum + 1 segments of n
// elements, with strides in bytes, and runs on Move.
#define BANG_CONVERT_HALF(suffix, mode, gate, name, From, To, alias)                              \
  inline void name##suffix(To* d, const From* s, unsigned n, BANG_WHERE) {                        \
    Convert({#name #suffix, kConversion, k2xx, gate}, d, s, n, 0, Round::mode, alias, where);     \
  }                                                                                               \
  inline void name##suffix(To* d, const From* s, unsigned n, unsigned dst_stride, int src_stride, \
                           unsigned segnum, BANG_WHERE) {                                         \
    const auto one = [](void* to, const void* from) {                                             \
      From x;                                                                                     \
      std::memcpy(&x, from, sizeof(x));                                                           \
      To y = RoundedTo<To>(double(x), Round::mode);                                               \
      if (Is2xx() && IsFinite(x)) y = Saturated(y);                                               \
      std::memcpy(to, &y, sizeof(y));                                                             \
    };                                                                                            \
    ConvertSegments({#name #suffix, kConversion, k2xx, gate},                                     \
                    EndOf(d, n, Segments::Rows(dst_stride, segnum)),                              \
                    EndOf(s, n, Segments::Rows(src_stride, segnum)), n, one, where);              \
  }
BANG_EACH_MODE(BANG_CONVERT_HALF, kEverywhere, __bang_float2half, float, half, kAlias)
BANG_CONVERT_HALF(, kRn, kEverywhere, __bang_half2float, half, float, kNoAlias)
BANG_UNKNOWN(__bang_float2half_rm, BANG_RM)
BANG_UNKNOWN(__bang_float2half_sr, BANG_SR)

inline void __bang_int322int16(short* d, const int* s, unsigned n, int dst_pos, int src_pos,
                               BANG_WHERE) {
  Convert({"__bang_int322int16", kConversion, kNoRule, kFrom322}, d, s, n, src_pos - dst_pos,
          Round::kTz, kAlias, where);
}

#define BANG_CONVERT_SCALAR(suffix, mode, gate, name, From, To) \
  inline To name##suffix(From x, BANG_WHERE) {                  \
    RequireArchitecture(#name #suffix, gate, where);            \
    return RoundedTo<To>(double(x), Round::mode);               \
  }
#define BANG_CONVERT_SCALAR_MODES(name, From, To)                  \
  BANG_EACH_MODE(BANG_CONVERT_SCALAR, kEverywhere, name, From, To) \
  BANG_UNKNOWN(name##_rm, BANG_RM)                                 \
  BANG_UNKNOWN(name##_sr, BANG_SR)
BANG_CONVERT_SCALAR_MODES(__float2half, float, half)
BANG_CONVERT_SCALAR_MODES(__float2int, float, int)
BANG_CONVERT_SCALAR_MODES(__float2int32, float, int)
BANG_CONVERT_SCALAR_MODES(__half2int, half, int)
BANG_CONVERT_SCALAR_MODES(__half2int32, half, int)
inline float __half2float(half x) { return x; }
BANG_CONVERT_SCALAR(, kTz, kEverywhere, __int2float, int, float)
BANG_CONVERT_SCALAR(, kTz, kEverywhere, __int2half, int, half)

}  // namespace intrinsics
}  // namespace bang
