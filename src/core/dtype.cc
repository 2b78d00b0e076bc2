// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.h"

#include <iterator>

namespace mluop {
namespace {

// Indexed by mluOpDataType_t; 10 is not an enumerator.
constexpr const char* kTypes[] = {"invalid",      "half",          "float",   "int8",   "int16",
                                  "int31",        "int32",         "uint8",   "bool",   "int64",
                                  "invalid",      "uint32",        "uint64",  "uint16", "double",
                                  "complex_half", "complex_float", "bfloat16"};
constexpr uint8_t kBytes[] = {0, 2, 4, 1, 2, 4, 4, 1, 1, 8, 0, 4, 8, 2, 8, 4, 8, 2};
static_assert(std::size(kTypes) == MLUOP_DTYPE_BFLOAT16 + 1);
static_assert(std::size(kBytes) == std::size(kTypes));

// Indexed by mluOpTensorLayout_t.
constexpr const char* kLayouts[] = {"NCHW", "NHWC", "HWCN", "NDHWC", "ARRAY", "NCDHW",
                                    "TNC",  "NTC",  "NC",   "NLC",   "NCL"};
static_assert(std::size(kLayouts) == MLUOP_LAYOUT_NCL + 1);

}  // namespace

// A negative value becomes a large index.
size_t SizeOf(mluOpDataType_t dtype) {
  const auto index = static_cast<size_t>(dtype);
  return index < std::size(kBytes) ? kBytes[index] : 0;
}

const char* NameOf(mluOpDataType_t dtype) {
  const auto index = static_cast<size_t>(dtype);
  return index < std::size(kTypes) ? kTypes[index] : "invalid";
}

const char* NameOf(mluOpTensorLayout_t layout) {
  const auto index = static_cast<size_t>(layout);
  return index < std::size(kLayouts) ? kLayouts[index] : "unknown";
}

}  // namespace mluop
