// SPDX-License-Identifier: Apache-2.0
// BANG C: fills GDRAM with zeros. The documents call mluOpFill for it.
#pragma once

#include "bang.h"
#include "bang/convention.h"

// A core fills whole units of `unit` bytes, the size of a burst of GDRAM.
__mlu_global__ void MLUUnion1KernelFillZero(char* data, size_t bytes) {
  if (__is_mpu()) return;
  const size_t unit = 512;
  const size_t bytes_per_core = PAD_UP(DIV_UP(bytes, (size_t)taskDim), unit);
  const size_t max_fill = (size_t)1 << 30;  // the count of __gdramset has 32 bits
  const size_t begin = bytes_per_core * taskId;
  const size_t end = std::min(begin + bytes_per_core, bytes);
  for (size_t offset = begin; offset < end; offset += max_fill) {
    __gdramset(data + offset, (unsigned)std::min(end - offset, max_fill), (char)0);
  }
}
