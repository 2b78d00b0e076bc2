// SPDX-License-Identifier: Apache-2.0
// The interface between the intrinsics and the simulated core, which checks, counts and orders
// every instruction (libmluops_mlu.so).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

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
};

enum class Space : uint8_t { kNram, kWram, kSram, kLdram, kGdram, kHost };

// The instruction queues of a core. Scalar code runs in program order beside them.
enum class Queue : uint8_t { kIo, kMove, kCompute };

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

// How the result depends on the operands, for the propagation of bytes that were never written.
enum class Flow : uint8_t {
  kElements,  // element i of the result depends on element i (or i % count) of each source
  kAll,       // each result depends on all sources
  kScalar,    // a scalar result: no source may contain a byte that was never written
  kCustom,    // the intrinsic moves the state of each byte itself, through StateOf
};

// Where the result may lie, seen from a source.
enum class Alias : uint8_t { kNone, kSameAddress, kAnywhere };

struct Operand {
  const char* role;
  const void* data;
  size_t count;  // elements; a shorter source repeats (the cycle_ instructions)
  uint32_t width;
  bool is_integer;
  bool written;
  Alias alias;

  bool is_scalar() const { return role == nullptr; }  // needs no check
};

template <class T>
Operand Out(const T* data, size_t count) {
  return {"dst", data, count, sizeof(T), std::is_integral_v<T>, true, Alias::kNone};
}

// The sources of an instruction; source[i] is element i.
template <class T>
struct In {
  const char* role;
  const T* data;
  size_t count;
  Alias alias = Alias::kSameAddress;

  T operator[](size_t i) const { return data[i]; }
  operator Operand() const {  // NOLINT(google-explicit-constructor)
    return {role, data, count, sizeof(T), std::is_integral_v<T>, false, alias};
  }
};
template <class T>
struct Repeated : In<T> {
  T operator[](size_t i) const { return this->data[i % this->count]; }
};
template <class T>
struct Scalar {
  T value;

  T operator[](size_t) const { return value; }
  operator Operand() const { return {}; }  // NOLINT(google-explicit-constructor)
};
template <class T>
In(const char*, const T*, size_t) -> In<T>;
template <class T>
In(const char*, const T*, size_t, Alias) -> In<T>;
template <class T>
Repeated(In<T>) -> Repeated<T>;
template <class T>
Scalar(T) -> Scalar<T>;

// A vector instruction that is being executed.
struct Issued {
  bool runs;     // false on the memory core, where vector instructions do nothing
  bool tainted;  // a source has bytes that nothing has written

  Issued(bool is_run, bool is_tainted) : runs(is_run), tainted(is_tainted) {}
  Issued(const Issued&) = delete;
  Issued& operator=(const Issued&) = delete;
  ~Issued() {
    if (tainted) Repoison();
  }
  explicit operator bool() const { return runs; }

 private:
  // Fills the elements of the result that depend on bytes which nothing has written with poison.
  BANG_API static void Repoison();
};

// Checks a vector instruction of `count` elements, orders it in the Compute queue and counts it.
BANG_API Issued Issue(const Instruction& instruction, Flow flow, size_t count,
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

inline constexpr int kPoison = 0xCB;  // a float of -2.7e7, a half of -15.6

// The state of each byte of NRAM: 1 if it was written. Intrinsics that permute their elements
// permute the state in the same way.
BANG_API uint8_t* StateOf(const void* data);
BANG_API void RequireWritten(const char* name, const Operand& operand, Where where);

// Calls move(dst, src) for the elements and for their state.
template <class T, class Move>
void Permute(T* dst, const T* src, const Move& move) {
  move(dst, src);
  move(reinterpret_cast<T*>(StateOf(dst)),
       reinterpret_cast<const T*>(static_cast<const uint8_t*>(StateOf(src))));
}

// Element types of the tables: F, I and U of the BANG C reference.
template <class T, class... Ts>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Ts> || ...);
template <class T>
concept Float = kIsOneOf<T, half, float>;
template <class T>
concept Single = std::is_same_v<T, float>;
template <class T>
concept Int = kIsOneOf<T, char, signed char, short, int>;
template <class T>
concept Unsigned = kIsOneOf<T, unsigned char, unsigned short, unsigned>;
template <class T>
concept Number = Float<T> || Int<T>;
template <class T>
concept NumberOrByte = Number<T> || std::is_same_v<T, unsigned char>;
template <class T>
concept Element = Number<T> || Unsigned<T>;
template <class T>
concept Integer = Int<T> || Unsigned<T>;
template <class T>
concept WideInteger = Integer<T> && sizeof(T) >= 2;
template <class T>
concept Divisible = Float<T> || WideInteger<T>;
template <class T>
concept Byte = kIsOneOf<T, char, signed char, unsigned char>;

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
  const Issued issued = Issue(instruction, Flow::kElements, n, {Out(d, n), sources...}, where);
  if (!issued) return;
  constexpr bool kFromEnd = (... || (sizeof(D) > sizeof(sources[0])));
  const auto store = [&](const auto& value) {
    for (size_t k = 0; k < n; ++k) {
      const size_t i = kFromEnd ? n - 1 - k : k;
      d[i] = value(sources[i]...);
    }
  };
  if (Float<D> && Is2xx()) {
    store([&](auto... operands) { return Saturated<D>(f(operands...), operands...); });
  } else {
    store(f);
  }
}

}  // namespace bang
