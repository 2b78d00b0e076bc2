// SPDX-License-Identifier: Apache-2.0
// Bytes -> a case line, mostly a right one.
#pragma once

#include <string>

#include "tests/fuzz/bytes.h"

namespace mluop::fuzz {

// An input that starts with no character of ASCII is bytes for MakeLine; any other is text.
constexpr bool IsForMakeLine(const uint8_t* data, size_t size) {
  return size > 0 && data[0] >= 0x80;
}

std::string MakeLine(Bytes bytes);

}  // namespace mluop::fuzz
