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

// The rule on addresses and sizes of operands: multiples of bytes on 2xx, or everywhere. A size is
// count * sizeof(element).
struct Rule {
  unsigned address_step = 64, size_step = 128;
  bool everywhere_for_addresses = false, everywhere_for_sizes = false;
};
inline constexpr Rule kNoRule = {1, 1};
inline constexpr Rule k2xx = {};
inline constexpr Rule k2xx64 = {64, 64};
inline constexpr Rule kSize128 = {64, 128, false, true};  // on 2xx also 64-byte addresses
inline constexpr Rule kAll128 = {64, 128, true, true};

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

// How an instruction uses an operand: flags.
inline constexpr unsigned kNoAlias = 0;  // the result must not overlap it
inline constexpr unsigned kAlias = 1;    // the result may lie at its address
inline constexpr unsigned kRepeats = 2;  // a shorter source (the cycle_ instructions)
inline constexpr unsigned kDecides = 4;  // an index or a mask: each byte must have been written
inline constexpr unsigned kResult = 8;
inline constexpr unsigned kSingle = 16;  // one element: the rule on sizes does not apply

struct Operand {
  const char* role;  // NULL: a scalar, which needs no check
  const void* data;
  size_t count;  // elements
  uint32_t width;
  bool is_integer;
  unsigned use;

  bool Has(unsigned flag) const { return (use & flag) != 0; }
};

// An operand and its type. At(i) is element i, which may repeat.
template <class T>
struct Source : Operand {
  T scalar = {};

  const T* At(size_t i) const { return static_cast<const T*>(data) + (i < count ? i : i % count); }
};
template <class T>
Source<T> In(const char* role, const T* data, size_t count, unsigned use = kAlias) {
  return {{role, data, count, sizeof(T), std::is_integral_v<T>, use}};
}
template <class T>
Source<T> Out(const char* role, const T* data, size_t count) {
  return In(role, data, count, kResult);
}
template <class T>
Source<T> Scalar(T value) {
  return {{}, value};
}

// A mask of n bits.
inline Operand Bits(const char* role, const void* mask, unsigned n) {
  return In(role, static_cast<const char*>(mask), (n + 7) / 8, kDecides);
}
inline bool BitAt(const void* mask, size_t i) {
  return (static_cast<const unsigned char*>(mask)[i / 8] >> (i % 8) & 1) != 0;
}

inline constexpr int kPoison = 0xCB;  // a float of -2.7e7, a half of -15.6

// The state of a byte of on-chip memory. Other values: it depends on bytes that nothing has
// written, and the value is the number of the first instruction that read them.
inline constexpr uint8_t kUnwritten = 0, kWritten = 1;

// A vector instruction that is being executed.
struct Issued {
  bool is_2xx = false;
  uint8_t dependent = kWritten;  // the state of results that depend on bytes nothing has written
  ptrdiff_t states = 0;          // the distance from a byte of NRAM to its state

  // False on the memory core, where vector instructions do nothing.
  explicit operator bool() const { return states != 0; }
  bool all_written() const { return dependent == kWritten; }
  uint8_t* StateOf(const void* data) const {
    return const_cast<uint8_t*>(static_cast<const uint8_t*>(data)) + states;
  }
  template <class T>
  bool IsWritten(const T* element) const {
    return all_written() || std::ranges::all_of(StateOf(element), StateOf(element + 1),
                                                [](uint8_t state) { return state == kWritten; });
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
// Answers to questions that the sheet of BANG C leaves open, from the environment.
struct Choices {
  bool allows_in_place = false;      // MLUOP_MLU_IN_PLACE: __bang_lut and __bang_sumpool
  bool keeps_middle_result = false;  // MLUOP_MLU_FUSION: __bang_fusion rounds once
};
BANG_API const Choices& GetChoices();
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
BANG_TYPES(LutEntry, short, int)
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
using Same = std::type_identity_t<T>;  // a parameter that takes no part in deduction

// 2xx saturates: finite operands give the largest finite value instead of an infinity. Its result
// for operands that are infinite or NaN is not described; they follow IEEE.
template <class T>
bool IsFinite(T x) {
  return std::isfinite(static_cast<float>(x));
}
template <class T>
T Saturated(T result) {
  constexpr float kLargest = std::is_same_v<T, half> ? 65504.0f : std::numeric_limits<float>::max();
  const float x = static_cast<float>(result);
  return std::isinf(x) ? static_cast<T>(std::copysign(kLargest, x)) : result;
}

// Reads the elements that one result depends on.
struct Reader {
  const Issued& issued;
  bool all_written = true;
  bool all_finite = true;

  template <class T>
  T operator()(const T* element) {
    all_written &= issued.IsWritten(element);
    all_finite &= IsFinite(*element);
    return *element;
  }
  template <class T>
  T operator()(const Source<T>& source, size_t i) {
    if (source.role != nullptr) return (*this)(source.At(i));
    all_finite &= IsFinite(source.scalar);
    return source.scalar;
  }
};

// Issues an instruction of `count` elements and stores n results: d[i * step] = result(i, read). In
// place, both sides start at the same address: a wider result is written from the end.
template <class D, class Result>
Issued Compute(const Instruction& instruction, Where where, size_t count,
               std::initializer_list<Operand> operands, D* d, size_t n, const Result& result,
               size_t step = 1) {
  const Issued issued = Issue(instruction, count, operands, where);
  const bool from_end = std::ranges::any_of(operands, [](const Operand& operand) {
    return operand.role != nullptr && operand.width < sizeof(D);
  });
  for (size_t k = 0; issued && k < n; ++k) {
    const size_t i = from_end ? n - 1 - k : k;
    Reader read = {issued};
    const D value = result(i, read);
    const bool saturates = issued.is_2xx && read.all_finite;
    issued.Put(d + i * step, saturates ? Saturated(value) : value, read.all_written);
  }
  return issued;
}

// d[i] = f(sources[i]...) for n elements.
template <class D, class F, class... Sources>
void Map(const Instruction& instruction, Where where, D* d, size_t n, const F& f,
         const Sources&... sources) {
  Compute(instruction, where, n, {Out("dst", d, n), sources...}, d, n,
          [&](size_t i, Reader& read) { return static_cast<D>(f(read(sources, i)...)); });
}

// Indices of Rearrange: d[i] keeps its value, becomes zero, or is lost: it counts as unwritten.
inline constexpr size_t kKeep = ~size_t{0}, kZero = kKeep - 1, kLost = kKeep - 2;

// d[i] = src[index(i)] for n elements, with the state of their bytes. d may be src.
template <class T, class Index>
void Rearrange(const Issued& issued, T* d, size_t n, const T* src, const Index& index) {
  if (!issued) return;
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
