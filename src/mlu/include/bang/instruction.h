// SPDX-License-Identifier: Apache-2.0
// The interface between the intrinsics and the simulated core, which checks, counts and orders
// every instruction (libmluops_mlu.so).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "bang/half.h"

#define BANG_API __attribute__((visibility("default")))
// The last parameter of every intrinsic.
#define BANG_WHERE ::bang::Where where = ::bang::Where()

namespace bang {

// The line of the author's source that issued an instruction.
struct Where {
  const char* file;
  int line;
  explicit constexpr Where(const char* source = __builtin_FILE(), int number = __builtin_LINE())
      : file(source), line(number) {}

  std::string Text() const { return std::string(file) + ":" + std::to_string(line) + ": "; }
};

enum Space : uint8_t { kNram, kWram, kSram, kLdram, kGdram, kHost };

// The instruction queues of a core. Scalar code runs in program order beside them.
enum Queue : uint8_t { kIo, kMove, kCompute };
inline constexpr Queue kQueues[] = {kIo, kMove, kCompute};

// Groups of instructions for the counters.
enum Kind { kArithmetic, kComparison, kLogic, kSelection, kLayout, kConversion, kFill, kAtomic };

// The rule on addresses and sizes of operands. A size is count * sizeof(element).
enum Rule {
  kNoRule,
  k2xx,      // on 2xx: 64-byte addresses, sizes in multiples of 128 bytes
  k2xx64,    // on 2xx: 64-byte addresses, sizes in multiples of 64 bytes
  kSize128,  // everywhere: sizes in multiples of 128 bytes; on 2xx also 64-byte addresses
  kAll128,   // everywhere: 64-byte addresses, sizes in multiples of 128 bytes
};

// Architectures that have an instruction: __BANG_ARCH__ >= lowest, except two.
struct Gate {
  int lowest = 0;
  int except[2] = {0, 0};
  int lowest_for_integers = 0;
};
inline constexpr Gate kEverywhere = {};
inline constexpr Gate kIntegersFrom322 = {0, {0, 0}, 322};
inline constexpr Gate kFrom322 = {322};
inline constexpr Gate kFrom322Not372 = {322, {372, 0}};
inline constexpr Gate kFrom520 = {520};
inline constexpr Gate kFrom592 = {592};

struct Instruction {
  const char* name;
  Kind kind;
  Rule rule = k2xx;
  Gate gate = kIntegersFrom322;
};

// Whether the result may lie at the address of a source.
inline constexpr bool kAlias = true, kNoAlias = false;

struct Operand {
  const char* role;  // NULL: a scalar, which needs no check
  const void* data;
  size_t count;  // elements
  uint32_t width;
  bool is_integer;
  bool may_alias = kNoAlias;
  bool is_result = false;
  bool repeats = false;  // a shorter source (the cycle_ instructions)
  bool decides = false;  // an index or a mask: each of its bytes must have been written
};

// A source; source[i] is element i of a vector, or the scalar.
template <class T>
struct Source {
  Operand operand = {};
  T scalar = {};

  const T* At(size_t i) const {
    return static_cast<const T*>(operand.data) + (i < operand.count ? i : i % operand.count);
  }
  T operator[](size_t i) const { return operand.role == nullptr ? scalar : *At(i); }
  operator Operand() const { return operand; }  // NOLINT(google-explicit-constructor)
};
template <class T>
Source<T> In(const char* role, const T* data, size_t count, bool may_alias = kAlias) {
  return {{role, data, count, sizeof(T), std::is_integral_v<T>, may_alias}};
}
template <class T>
Source<T> Repeated(const char* role, const T* data, size_t count) {
  return {{role, data, count, sizeof(T), std::is_integral_v<T>, kNoAlias, false, true}};
}
template <class T>
Operand Deciding(const char* role, const T* data, size_t count) {
  return {role, data, count, sizeof(T), std::is_integral_v<T>, kNoAlias, false, false, true};
}
template <class T>
Source<T> Scalar(T value) {
  return {{}, value};
}
template <class T>
Source<T> Out(const char* role, T* data, size_t count) {
  return {{role, data, count, sizeof(T), std::is_integral_v<T>, kNoAlias, true}};
}

inline constexpr int kPoison = 0xCB;  // a float of -2.7e7, a half of -15.6

// The state of a byte of on-chip memory. Other values: it depends on bytes that nothing has
// written, and the value is the number of the first instruction that read them.
inline constexpr uint8_t kUnwritten = 0, kWritten = 1;

// A vector instruction that is being executed.
struct Issued {
  bool runs = false;  // false on the memory core, where vector instructions do nothing
  bool is_2xx = false;
  uint8_t dependent = kWritten;  // the state of results that depend on bytes nothing has written
  ptrdiff_t states = 0;          // the distance from a byte of NRAM to its state

  explicit operator bool() const { return runs; }
  bool all_written() const { return dependent == kWritten; }
  uint8_t* StateOf(const void* data) const {
    return const_cast<uint8_t*>(static_cast<const uint8_t*>(data)) + states;
  }
  template <class T>
  bool IsWritten(const T* element) const {
    return all_written() || std::ranges::all_of(StateOf(element), StateOf(element + 1),
                                                [](uint8_t state) { return state == kWritten; });
  }
  template <class T>
  bool IsWritten(const Source<T>& source, size_t i) const {
    return source.operand.role == nullptr || source.operand.is_result || IsWritten(source.At(i));
  }
  // Stores a value. One that depends on bytes which nothing has written becomes poison.
  template <class T>
  void Put(void* d, const T& value, bool is_written) const {
    std::memcpy(d, &value, sizeof(T));
    if (!is_written) std::memset(d, kPoison, sizeof(T));
    std::memset(StateOf(d), is_written ? kWritten : dependent, sizeof(T));
  }
};

// Checks a vector instruction of `count` elements, orders it in the Compute queue and counts it.
// The first operand is the result, if there is one.
BANG_API Issued Issue(const Instruction& instruction, size_t count,
                      std::initializer_list<Operand> operands, Where where);

// __BANG_ARCH__ of the card. The functions of these headers must not depend on the macro: the
// passes of a source share one copy of them.
BANG_API int Architecture();
inline bool Is2xx() { return Architecture() < 300; }
BANG_API void RequireArchitecture(const char* instruction, const Gate& gate, Where where);

// Fails the instruction: `rule` is what must hold.
[[noreturn]] BANG_API void Violate(const char* instruction, Where where, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
inline void Require(bool holds, const char* instruction, Where where, const char* rule) {
  if (!holds) Violate(instruction, where, "%s", rule);
}

// Element types of the tables: F, I and U of the BANG C reference, and the sets that they form.
template <class T, class... Ts>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Ts> || ...);
#define BANG_TYPES(name, ...) \
  template <class T>          \
  concept name = kIsOneOf<T, __VA_ARGS__>;
BANG_TYPES(Float, half, float)
BANG_TYPES(Single, float)
BANG_TYPES(Int, char, signed char, short, int)
BANG_TYPES(Unsigned, unsigned char, unsigned short, unsigned)
BANG_TYPES(Byte, char, signed char, unsigned char)
BANG_TYPES(Number, half, float, char, signed char, short, int)
BANG_TYPES(NumberOrByte, half, float, char, signed char, short, int, unsigned char)
BANG_TYPES(WideInteger, short, int, unsigned short, unsigned)
BANG_TYPES(FloatOrWide, half, float, short, int, unsigned short, unsigned)
template <class T>
concept Integer = Int<T> || Unsigned<T>;
template <class T>
concept Element = Float<T> || Integer<T>;
template <class T>
concept WiderThanByte = Element<T> && !Byte<T>;

template <class T>
using Same = std::type_identity_t<T>;  // a parameter that takes no part in deduction

// 2xx saturates: finite operands give the largest finite value instead of an infinity. Its result
// for operands that are infinite or NaN is not described; they follow IEEE.
template <class D, class... Ts>
D Saturated(D result, Ts... operands) {
  if constexpr (Float<D>) {
    constexpr float kLargest =
        std::is_same_v<D, half> ? 65504.0f : std::numeric_limits<float>::max();
    const bool is_overflow = std::isinf(static_cast<float>(result)) &&
                             (... && std::isfinite(static_cast<float>(operands)));
    if (is_overflow) return D(std::copysign(kLargest, static_cast<float>(result)));
  }
  return result;
}

// d[i] = f(sources[i]...) for n elements. In place the elements of both sides start at the same
// address, so a wider result is written from the end.
template <class D, class F, class... Sources>
void Map(const Instruction& instruction, Where where, D* d, size_t n, const F& f,
         const Sources&... sources) {
  const Issued issued = Issue(instruction, n, {Out("dst", d, n), sources...}, where);
  constexpr bool kFromEnd = (... || (sizeof(D) > sizeof(sources[0])));
  for (size_t k = 0; issued && k < n; ++k) {
    const size_t i = kFromEnd ? n - 1 - k : k;
    const D value = f(sources[i]...);
    const bool is_written = (... && issued.IsWritten(sources, i));
    issued.Put(d + i, issued.is_2xx ? Saturated(value, sources[i]...) : value, is_written);
  }
}

// Indices of Rearrange: d[i] keeps its value, becomes zero, or is lost: it counts as unwritten.
inline constexpr size_t kKeep = ~size_t{0}, kZero = kKeep - 1, kLost = kKeep - 2;

// d[i] = src[index(i)] for n elements, with the state of their bytes. d may be src.
template <class T, class Index>
void Rearrange(const Issued& issued, T* d, size_t n, const T* src, const Index& index) {
  std::vector<T> values(d, d + n);
  std::vector<uint8_t> states(issued.StateOf(d), issued.StateOf(d + n));
  for (size_t i = 0; i < n; ++i) {
    const size_t from = index(i);
    uint8_t* const state = &states[i * sizeof(T)];
    if (from < kLost) {
      values[i] = src[from];
      std::memcpy(state, issued.StateOf(src + from), sizeof(T));
    } else if (from != kKeep) {
      std::memset(&values[i], from == kZero ? 0 : kPoison, sizeof(T));
      std::memset(state, from == kZero ? kWritten : kUnwritten, sizeof(T));
    }
  }
  std::memcpy(d, values.data(), n * sizeof(T));
  std::memcpy(issued.StateOf(d), states.data(), states.size());
}

}  // namespace bang
