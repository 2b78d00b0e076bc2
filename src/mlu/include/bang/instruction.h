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
enum class Kind : uint8_t {
  kArithmetic,
  kComparison,
  kLogic,
  kSelection,
  kLayout,
  kConversion,
  kFill,
  kAtomic,
  kCount
};

// The rule on addresses and sizes of operands. `bytes` is count * sizeof(element).
enum class Rule : uint8_t {
  kNone,
  k2xx,     // on 2xx: 64-byte addresses, bytes a multiple of 128
  k2xx64,   // on 2xx: 64-byte addresses, bytes a multiple of 64
  kAll128,  // everywhere: bytes a multiple of 128
};

// Architectures that have an instruction: __BANG_ARCH__ >= lowest, except two.
struct Gate {
  int lowest = 0;
  int except[2] = {0, 0};
};
inline constexpr Gate kEverywhere = {};
inline constexpr Gate kFrom322 = {322, {0, 0}};
inline constexpr Gate kFrom322Not372 = {322, {372, 0}};
inline constexpr Gate kFrom520 = {520, {0, 0}};
inline constexpr Gate kFrom592 = {592, {0, 0}};

struct Instruction {
  const char* name;
  Kind kind;
  Rule rule = Rule::k2xx;
  Gate gate = kEverywhere;
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
  bool written;
  Alias alias;
};

template <class T>
Operand Out(const T* data, size_t count) {
  return {"dst", data, count, sizeof(T), true, Alias::kNone};
}
template <class T>
Operand In(const char* role, const T* data, size_t count, bool may_alias = true) {
  return {role, data, count, sizeof(T), false, may_alias ? Alias::kSameAddress : Alias::kNone};
}
inline constexpr bool kNoAlias = false;

// Fills the elements of the result that depend on bytes which nothing has written with poison.
BANG_API void Repoison();

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
};

// Checks a vector instruction of `count` elements, orders it in the Compute queue and counts it.
BANG_API Issued Issue(const Instruction& instruction, Flow flow, size_t count,
                      std::initializer_list<Operand> operands, Where where);

// __BANG_ARCH__ of the card. The functions of these headers must not depend on the macro: the passes
// of a source share one copy of them.
BANG_API int Architecture();
inline bool Is2xx() { return Architecture() < 300; }

// Fails the instruction: `rule` is what must hold.
[[noreturn]] BANG_API void Violate(const char* instruction, Where where, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
inline void Require(bool holds, const char* instruction, Where where, const char* rule) {
  if (!holds) Violate(instruction, where, "%s", rule);
}

// The state of each byte of NRAM: 1 if it was written. Intrinsics that permute their elements
// permute the state in the same way.
BANG_API uint8_t* StateOf(const void* data);

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
concept AnyNumber = Number<T> || Unsigned<T>;
template <class T>
concept Byte = kIsOneOf<T, char, signed char, unsigned char>;
template <class T>
concept Element = AnyNumber<T>;

template <class T>
using Same = std::type_identity_t<T>;  // a parameter that takes no part in deduction

}  // namespace bang
