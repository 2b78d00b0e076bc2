// SPDX-License-Identifier: Apache-2.0
// The launch of a kernel: kernel<<<k_dim, k_type, queue>>>. Shared by host code and BANG C.
#pragma once

#include "bang/launch.h"

namespace mluop {
namespace roi {

struct LaunchConfig {
  cnrtDim3_t k_dim;
  cnrtFunctionType_t k_type;
  cnrtQueue_t queue;
};

}  // namespace roi
}  // namespace mluop
