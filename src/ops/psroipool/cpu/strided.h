// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU without repacking: the fallbacks of both directions. Elements are read or added
// in place.
#pragma once

#include "cpu/context.h"
#include "ops/psroipool/cpu/bin_table.h"

namespace mluop::psroipool {

// Forward.
mluOpStatus_t RunStrided(const CpuCall<Problem>& call, void* scratch);

// Backward, with any mapping. Every row of the map is summed by one worker.
size_t ScatterBytes(const CpuCall<Problem>& call);
mluOpStatus_t RunScatter(const CpuCall<Problem>& call, void* scratch);

// Fills the table with the bins of all RoIs.
void FillTable(const Problem& p, const float* rois, BinTable& table, ThreadPool& threads);

}  // namespace mluop::psroipool
