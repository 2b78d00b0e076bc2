// SPDX-License-Identifier: Apache-2.0
// The launch policy of the design documents: task type Union1, all clusters of the card. The kernels
// read taskId and taskDim, so they run with any number of clusters.
#pragma once

#include "mlu/context.h"
#include "ops/roi/mlu/launch_config.h"

namespace mluop::roi {

inline LaunchConfig PolicyUnion1(const MluContext& context) {
  const MluProperties& properties = context.properties();
  return {{static_cast<unsigned>(properties.cores_per_cluster),
           static_cast<unsigned>(properties.cluster_limit), 1},
          cnrtFuncTypeUnion1,
          context.queue()};
}

}  // namespace mluop::roi
