// SPDX-License-Identifier: Apache-2.0
// The launch policy of the design documents: task type Union1, all clusters of the card. The kernels
// read taskId and taskDim and assume no number of clusters.
#pragma once

#include "bang/launch.h"
#include "mlu/context.h"

namespace mluop::roi {

struct LaunchPolicy {
  cnrtDim3_t k_dim;
  cnrtFunctionType_t k_type;
};

inline LaunchPolicy PolicyUnion1(const MluProperties& properties) {
  return {{static_cast<unsigned>(properties.cores_per_cluster),
           static_cast<unsigned>(properties.cluster_limit), 1},
          cnrtFuncTypeUnion1};
}

}  // namespace mluop::roi
