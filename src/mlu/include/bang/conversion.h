// SPDX-License-Identifier: Apache-2.0
// Conversions: __bang_<from>2<to>[_mode](dst, src, n [, fix_position]) for vectors and
// __<from>2<to>[_mode](x) for scalars. Without a mode they round toward zero.
#pragma once

#include <cmath>
#include <limits>

#include "bang/instruction.h"

namespace bang {

// Rounds a double to the target type. Integers saturate, and so does NaN.
template <class To>
To RoundedTo(double x, Round mode) {
  if constexpr (std::is_same_v<To, half>) {
    half result;
    result.bits = HalfBits(x, mode);
    return result;
  } else if constexpr (std::is_same_v<To, float>) {
    const float nearest = static_cast<float>(x);
    const double error = static_cast<double>(nearest) - x;
    if (error == 0 || std::isnan(x) || mode == Round::kRn || mode == Round::kRd) return nearest;
    const bool is_above = error > 0;
    const bool want_above =
        mode == Round::kUp || (mode == Round::kTz && x < 0) || (mode == Round::kOz && x > 0);
    if (is_above == want_above) return nearest;
    const float limit = std::numeric_limits<float>::infinity();
    return std::nextafter(nearest, want_above ? limit : -limit);
  } else {
    using Limits = std::numeric_limits<To>;
    const double rounded = RoundTo(x, mode);
    if (!(rounded < static_cast<double>(Limits::max()))) return Limits::max();
    if (rounded < static_cast<double>(Limits::min())) return Limits::min();
    return static_cast<To>(rounded);
  }
}

template <class T>
double Exact(T x) {
  if constexpr (std::is_same_v<T, half>)
    return static_cast<double>(static_cast<float>(x));
  else
    return static_cast<double>(x);
}

template <class To, class From>
void Convert(const Instruction& instruction, To* d, const From* s, unsigned n, int scale,
             Round mode, bool alias, Where where) {
  if (scale < -127 || scale > 127)
    Violate(instruction.name, where, "fix_position must be in [-127, 127], got %d", scale);
  const Issued issued =
      Issue(instruction, Flow::kElements, n, {Out(d, n), In("src", s, n, alias)}, where);
  if (!issued) return;
  // In place the elements of d and s start at the same address: the wider side decides the order.
  const auto one = [&](unsigned i) { d[i] = RoundedTo<To>(std::ldexp(Exact(s[i]), scale), mode); };
  if (sizeof(To) > sizeof(From)) {
    for (unsigned i = n; i-- > 0;) one(i);
  } else {
    for (unsigned i = 0; i < n; ++i) one(i);
  }
}

}  // namespace bang

#define BANG_CONVERT_MODE(name, mode_name, From, To, sign, alias, rule, gate, mode)               \
  inline void name##mode_name(To* d, const From* s, unsigned n, int fix_position,                 \
                              ::bang::Where where = ::bang::Where()) {                            \
    static constexpr ::bang::Instruction kInstruction = {                                         \
        #name #mode_name, ::bang::Kind::kConversion, ::bang::Rule::rule, ::bang::gate};           \
    ::bang::Convert(kInstruction, d, s, n, sign fix_position, ::bang::Round::mode, alias, where); \
  }
#define BANG_CONVERT(name, From, To, sign, alias, rule, gate)          \
  BANG_CONVERT_MODE(name, , From, To, sign, alias, rule, gate, kTz)    \
  BANG_CONVERT_MODE(name, _tz, From, To, sign, alias, rule, gate, kTz) \
  BANG_CONVERT_MODE(name, _oz, From, To, sign, alias, rule, gate, kOz) \
  BANG_CONVERT_MODE(name, _up, From, To, sign, alias, rule, gate, kUp) \
  BANG_CONVERT_MODE(name, _dn, From, To, sign, alias, rule, gate, kDn) \
  BANG_CONVERT_MODE(name, _rd, From, To, sign, alias, rule, gate, kRd) \
  BANG_CONVERT_MODE(name, _rn, From, To, sign, alias, rule, kFrom322, kRn)
BANG_CONVERT(__bang_float2int32, float, int, -, true, kNone, kFrom322)
BANG_CONVERT(__bang_half2int32, half, int, -, false, kNone, kFrom322)
BANG_CONVERT(__bang_int322float, int, float, +, true, kNone, kFrom322)
BANG_CONVERT(__bang_int322half, int, half, +, true, kNone, kFrom322)
BANG_CONVERT(__bang_float2int16, float, short, -, true, k2xx, kEverywhere)
BANG_CONVERT(__bang_half2int16, half, short, -, true, k2xx, kEverywhere)
BANG_CONVERT(__bang_half2int8, half, signed char, -, true, k2xx, kEverywhere)
BANG_CONVERT_MODE(__bang_int162float, , short, float, +, false, k2xx, kEverywhere, kRn)
BANG_CONVERT_MODE(__bang_int82float, , signed char, float, +, false, k2xx, kEverywhere, kRn)
BANG_CONVERT_MODE(__bang_uint322float, , unsigned, float, +, false, k2xx, kEverywhere, kRn)
#undef BANG_CONVERT
#undef BANG_CONVERT_MODE

#define BANG_FLOAT2HALF(mode_name, gate, mode)                                              \
  inline void __bang_float2half##mode_name(half* d, const float* s, unsigned n,             \
                                           ::bang::Where where = ::bang::Where()) {         \
    static constexpr ::bang::Instruction kInstruction = {"__bang_float2half" #mode_name,    \
                                                         ::bang::Kind::kConversion,         \
                                                         ::bang::Rule::k2xx, ::bang::gate}; \
    ::bang::Convert(kInstruction, d, s, n, 0, ::bang::Round::mode, true, where);            \
  }                                                                                         \
  inline half __float2half##mode_name(float x) {                                            \
    return ::bang::RoundedTo<half>(static_cast<double>(x), ::bang::Round::mode);            \
  }
BANG_FLOAT2HALF(, kEverywhere, kTz)
BANG_FLOAT2HALF(_tz, kEverywhere, kTz)
BANG_FLOAT2HALF(_oz, kEverywhere, kOz)
BANG_FLOAT2HALF(_up, kEverywhere, kUp)
BANG_FLOAT2HALF(_dn, kEverywhere, kDn)
BANG_FLOAT2HALF(_rd, kEverywhere, kRd)
BANG_FLOAT2HALF(_rn, kFrom322, kRn)
#undef BANG_FLOAT2HALF

inline void __bang_half2float(float* d, const half* s, unsigned n,
                              ::bang::Where where = ::bang::Where()) {
  static constexpr ::bang::Instruction kInstruction = {"__bang_half2float",
                                                       ::bang::Kind::kConversion};
  ::bang::Convert(kInstruction, d, s, n, 0, ::bang::Round::kRn, false, where);
}

inline void __bang_int322int16(short* d, const int* s, unsigned n, int dst_pos, int src_pos,
                               ::bang::Where where = ::bang::Where()) {
  static constexpr ::bang::Instruction kInstruction = {
      "__bang_int322int16", ::bang::Kind::kConversion, ::bang::Rule::kNone, ::bang::kFrom322};
  ::bang::Convert(kInstruction, d, s, n, src_pos - dst_pos, ::bang::Round::kTz, true, where);
}

#define BANG_TO_INT(mode_name, mode)                                                 \
  inline int __float2int##mode_name(float x) {                                       \
    return ::bang::RoundedTo<int>(static_cast<double>(x), ::bang::Round::mode);      \
  }                                                                                  \
  inline int __half2int##mode_name(half x) { return __float2int##mode_name(x); }     \
  inline int __float2int32##mode_name(float x) { return __float2int##mode_name(x); } \
  inline int __half2int32##mode_name(half x) { return __float2int##mode_name(x); }
BANG_TO_INT(, kTz)
BANG_TO_INT(_tz, kTz)
BANG_TO_INT(_oz, kOz)
BANG_TO_INT(_up, kUp)
BANG_TO_INT(_dn, kDn)
BANG_TO_INT(_rd, kRd)
BANG_TO_INT(_rn, kRn)
#undef BANG_TO_INT
inline float __half2float(half x) { return x; }
inline float __int2float(int x) { return static_cast<float>(x); }
inline half __int2half(int x) { return half(x); }
