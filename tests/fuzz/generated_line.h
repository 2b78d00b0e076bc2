// SPDX-License-Identifier: Apache-2.0
// Turns bytes into a case line, usually a valid one.
#pragma once

#include <string>

#include "tests/fuzz/bytes.h"

namespace mluop::fuzz {

// An input that starts with a non-ASCII byte is bytes for MakeLine; any other is text.
constexpr bool IsForMakeLine(const uint8_t* data, size_t size) {
  return size > 0 && data[0] >= 0x80;
}

std::string MakeLine(Bytes bytes);

}  // namespace mluop::fuzz
