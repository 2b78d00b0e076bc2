// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.h"

#include <iterator>

namespace mluop {
namespace {

struct TypeFacts {
  const char* name;
  size_t bytes;
};

constexpr TypeFacts kInvalid = {"invalid", 0};

// Indexed by mluOpDataType_t; 10 is not an enumerator.
constexpr TypeFacts kTypes[] = {kInvalid,
                                {"half", 2},
                                {"float", 4},
                                {"int8", 1},
                                {"int16", 2},
                                {"int31", 4},
                                {"int32", 4},
                                {"uint8", 1},
                                {"bool", 1},
                                {"int64", 8},
                                kInvalid,
                                {"uint32", 4},
                                {"uint64", 8},
                                {"uint16", 2},
                                {"double", 8},
                                {"complex_half", 4},
                                {"complex_float", 8},
                                {"bfloat16", 2}};
static_assert(std::size(kTypes) == MLUOP_DTYPE_BFLOAT16 + 1);

// Indexed by mluOpTensorLayout_t.
constexpr const char* kLayouts[] = {"NCHW", "NHWC", "HWCN", "NDHWC", "ARRAY", "NCDHW",
                                    "TNC",  "NTC",  "NC",   "NLC",   "NCL"};
static_assert(std::size(kLayouts) == MLUOP_LAYOUT_NCL + 1);

const TypeFacts& FactsOf(mluOpDataType_t dtype) {
  const auto index = static_cast<size_t>(dtype);  // a negative value becomes a large one
  return index < std::size(kTypes) ? kTypes[index] : kInvalid;
}

}  // namespace

size_t SizeOf(mluOpDataType_t dtype) { return FactsOf(dtype).bytes; }

const char* NameOf(mluOpDataType_t dtype) { return FactsOf(dtype).name; }

const char* NameOf(mluOpTensorLayout_t layout) {
  const auto index = static_cast<size_t>(layout);
  return index < std::size(kLayouts) ? kLayouts[index] : "unknown";
}

}  // namespace mluop
