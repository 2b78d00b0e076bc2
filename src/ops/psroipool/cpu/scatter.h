// SPDX-License-Identifier: Apache-2.0
// psroipool backward with any mapping, element by element.
#pragma once

#include "cpu/thread_pool.h"
#include "ops/psroipool/cpu/band.h"
#include "ops/psroipool/cpu/bin_table.h"

namespace mluop::psroipool {

struct Gradients {
  const float* top_grad;
  const float* rois;
  const int32_t* mapping;
  float* bottom_grad;
};

// Every row of the map is summed by one worker, the rois in ascending order. `memory` holds a row
// of the map for each worker.
void Scatter(const Problem& p, const Gradients& t, const BinTable& table, float* memory,
             ThreadPool& threads);

}  // namespace mluop::psroipool
