// SPDX-License-Identifier: Apache-2.0
#include "testing/work.h"

#include <algorithm>

#include "core/dtype.h"
#include "core/tensor.h"

namespace mluop::testing {

double AllBytes(const Arguments& arguments) {
  double bytes = 0;
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    bytes += static_cast<double>(arguments.tensors[i].ByteCount());
  }
  return bytes;
}

TouchedLines::TouchedLines(const Arguments& arguments, std::string_view tensor)
    : element_(SizeOf(arguments.Tensor(tensor).desc->dtype)),
      size_(arguments.Tensor(tensor).ByteCount()),
      other_bytes_(AllBytes(arguments) - static_cast<double>(size_)),
      touched_((size_ + kLine - 1) / kLine) {}

double TouchedLines::Bytes() const {
  const auto lines = static_cast<size_t>(std::count(touched_.begin(), touched_.end(), 1));
  return static_cast<double>(std::min(lines * kLine, size_));
}

}  // namespace mluop::testing
