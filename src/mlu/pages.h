// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace bang {

inline constexpr size_t kPage = 4096;

constexpr size_t RoundUp(size_t value, size_t step) { return (value + step - 1) / step * step; }

}  // namespace bang
