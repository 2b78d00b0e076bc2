// SPDX-License-Identifier: Apache-2.0
// The table of an operator: one row per attribute and per tensor, in the order of the C function's
// arguments. core/check_*.cc, the driver and the negative tests read it.
//
//   constexpr OpSpec kSpec("my_operator", kFloat,
//       {InRange("mode", 0, 1), AtLeast("height", 1), AtLeast("width", 1)},
//       {{"x", kIn, kT, kNHWC, "N H W height*width", kSkip},
//        {"y", kOut, kT, kNHWC, "N H W H*W", kSkip}});
//
// A dim of a shape is a product of literals, attributes and symbols. A symbol gets its value from a
// dim where it stands alone, or by solving a product ("4*C"); all other dims must agree. Shapes are
// parsed at compile time: a table with a wrong name does not compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "mlu_op.h"

namespace mluop {

inline constexpr int kMaxAttributes = 10;
inline constexpr int kMaxTensors = 6;
inline constexpr int kMaxSymbols = 8;
inline constexpr int kMaxRank = 5;
inline constexpr int kMaxFactors = 4;
inline constexpr int kMaxTables = 64;  // operators and getters together

// The types that T may have in a call.
enum TypeSet : uint8_t { kFloat = 1, kHalfOrFloat = 3 };
enum ElementType : uint8_t { kT, kI32 };
enum Direction : uint8_t { kIn, kOut };
enum LayoutRule : uint8_t { kAnyLayout, kNHWC, kNCHW };

// Returns the layout of a rule; ARRAY if it allows any.
constexpr mluOpTensorLayout_t LayoutOf(LayoutRule rule) {
  return rule == kNHWC ? MLUOP_LAYOUT_NHWC : rule == kNCHW ? MLUOP_LAYOUT_NCHW : MLUOP_LAYOUT_ARRAY;
}

// The effect of an empty tensor. kSkipFirst is checked before the kReject rows, kSkip after them.
enum WhenEmpty : uint8_t {
  kReject,     // BAD_PARAM
  kSkip,       // SUCCESS, nothing is written
  kSkipFirst,  // the same, checked before any rejection
  kCompute,    // the kernel runs: the call has work to do without this tensor
  kSkipRows,   // kSkip if dim 0 is 0, else kReject
};

struct AttributeSpec {
  enum Kind : uint8_t { kInteger, kPositiveReal } kind;
  std::string_view name;
  int64_t min;
  int64_t max;
  int64_t supported = INT32_MAX;  // a larger value is NOT_SUPPORTED

  constexpr AttributeSpec SupportedUpTo(int64_t limit) const {
    AttributeSpec row = *this;
    row.supported = limit;
    return row;
  }
};

constexpr AttributeSpec AtLeast(std::string_view name, int64_t min) {
  return {AttributeSpec::kInteger, name, min, INT32_MAX};
}
constexpr AttributeSpec InRange(std::string_view name, int64_t first, int64_t last) {
  return {AttributeSpec::kInteger, name, first, last};
}
constexpr AttributeSpec AnyInteger(std::string_view name) {
  return {AttributeSpec::kInteger, name, INT32_MIN, INT32_MAX};
}
constexpr AttributeSpec Positive(std::string_view name) {
  return {AttributeSpec::kPositiveReal, name, 0, 0};
}

// Requires that two attributes are equal.
struct Relation {
  std::string_view first;
  std::string_view second;
};

// The tensor may be absent (NULL descriptor and pointer) if this attribute has this value.
struct AbsentIf {
  std::string_view attribute;
  int64_t value;
  bool one_null_suffices = false;  // a NULL descriptor or a NULL pointer makes it absent
};
// A descriptor of a getter that may always be NULL.
inline constexpr AbsentIf kMayBeNull = {"*", 0};

struct TensorRow {
  std::string_view name;
  Direction direction = kIn;
  ElementType type = kT;
  LayoutRule layout = kAnyLayout;
  std::string_view shape;
  WhenEmpty when_empty = kReject;
  AbsentIf optional = {};
};

struct Factor {
  enum Kind : uint8_t { kLiteral, kAttribute, kSymbol } kind = kLiteral;
  int value = 0;  // the literal, or an index into attributes or symbols
};

struct DimSpec {
  int factor_count = 0;
  Factor factors[kMaxFactors] = {};

  constexpr bool IsBareSymbol() const {
    return factor_count == 1 && factors[0].kind == Factor::kSymbol;
  }
};

// A row with its texts parsed.
struct TensorSpec : TensorRow {
  static constexpr int kNeverAbsent = -1;
  static constexpr int kAlwaysOptional = -2;
  int optional_attribute = kNeverAbsent;  // index, or one of the constants above
  int rank = 0;
  DimSpec dims[kMaxRank] = {};
};

struct OpSpec {
  std::string_view name;
  TypeSet types;
  int attribute_count = 0;
  int tensor_count = 0;
  int symbol_count = 0;
  int relation_count = 0;
  bool limited = false;  // 2^31 elements or more in a tensor are NOT_SUPPORTED
  AttributeSpec attributes[kMaxAttributes] = {};
  TensorSpec tensors[kMaxTensors] = {};
  std::string_view symbols[kMaxSymbols] = {};
  Relation relations[2] = {};

  constexpr OpSpec(std::string_view op_name, TypeSet op_types,
                   std::initializer_list<AttributeSpec> attribute_rows,
                   std::initializer_list<TensorRow> tensor_rows,
                   std::initializer_list<Relation> relation_rows = {})
      : name(op_name), types(op_types) {
    for (const AttributeSpec& row : attribute_rows) attributes[attribute_count++] = row;
    for (const TensorRow& row : tensor_rows) AddTensor(row);
    for (const Relation& row : relation_rows) {
      Require(AttributeIndex(row.first) >= 0 && AttributeIndex(row.second) >= 0);
      relations[relation_count++] = row;
    }
  }

  constexpr OpSpec Limited() const {
    OpSpec spec = *this;
    spec.limited = true;
    return spec;
  }

  // Returns -1 if there is no attribute of that name.
  constexpr int AttributeIndex(std::string_view wanted) const {
    for (int i = 0; i < attribute_count; ++i) {
      if (attributes[i].name == wanted) return i;
    }
    return -1;
  }
  constexpr int TensorIndex(std::string_view wanted) const {
    for (int i = 0; i < tensor_count; ++i) {
      if (tensors[i].name == wanted) return i;
    }
    return -1;
  }
  constexpr int SymbolIndex(std::string_view wanted) const {
    for (int i = 0; i < symbol_count; ++i) {
      if (symbols[i] == wanted) return i;
    }
    return -1;
  }

 private:
  // Makes a wrong table a compile error, because specs are constexpr.
  static constexpr void Require(bool condition) {
    if (!condition) throw "wrong operator table";
  }

  constexpr void AddTensor(const TensorRow& row) {
    TensorSpec& tensor = tensors[tensor_count++];
    static_cast<TensorRow&>(tensor) = row;
    if (row.optional.attribute == kMayBeNull.attribute) {
      tensor.optional_attribute = TensorSpec::kAlwaysOptional;
    } else if (!row.optional.attribute.empty()) {
      tensor.optional_attribute = AttributeIndex(row.optional.attribute);
      Require(tensor.optional_attribute >= 0);
    }
    for (std::string_view rest = row.shape; !rest.empty();) {
      tensor.dims[tensor.rank++] = ParseDim(TakeUntil(rest, ' '));
    }
  }

  constexpr DimSpec ParseDim(std::string_view text) {
    DimSpec dim;
    while (!text.empty()) dim.factors[dim.factor_count++] = ParseFactor(TakeUntil(text, '*'));
    return dim;
  }

  constexpr Factor ParseFactor(std::string_view text) {
    Require(!text.empty());
    if (text[0] >= '0' && text[0] <= '9') {
      Require(text.size() == 1);
      return {Factor::kLiteral, text[0] - '0'};
    }
    if (const int index = AttributeIndex(text); index >= 0) return {Factor::kAttribute, index};
    Require(text[0] >= 'A' &&
            text[0] <= 'Z');  // symbols are upper case, so a misspelt attribute is an error
    if (const int index = SymbolIndex(text); index >= 0) return {Factor::kSymbol, index};
    symbols[symbol_count] = text;
    return {Factor::kSymbol, symbol_count++};
  }

  static constexpr std::string_view TakeUntil(std::string_view& text, char separator) {
    const size_t end = text.find(separator);
    const std::string_view head = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    return head;
  }
};

}  // namespace mluop
