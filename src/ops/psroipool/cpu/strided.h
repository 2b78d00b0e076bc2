// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU without repacking: the fallbacks of both directions. Elements are read or added
// where they lie in the map.
#pragma once

#include "cpu/context.h"
#include "ops/psroipool/cpu/bin_table.h"

namespace mluop::psroipool {

struct Tensors {
  const float* input;
  const float* rois;
  float* output;
  int32_t* mapping;

  explicit Tensors(const Arguments& a)
      : input(a.In<float>("input")),
        rois(a.In<float>("rois")),
        output(a.Out<float>("output")),
        mapping(a.Out<int32_t>("mapping_channel")) {}
};

// Forward.
mluOpStatus_t RunStrided(const CpuCall<Problem>& call, void* scratch);

struct Gradients {
  const float* top_grad;
  const float* rois;
  const int32_t* mapping;
  float* bottom_grad;

  explicit Gradients(const Arguments& a)
      : top_grad(a.In<float>("top_grad")),
        rois(a.In<float>("rois")),
        mapping(a.In<int32_t>("mapping_channel")),
        bottom_grad(a.Out<float>("bottom_grad")) {}
};

// Backward, with any mapping. Every row of the map is summed by one worker.
size_t ScatterBytes(const CpuCall<Problem>& call);
mluOpStatus_t RunScatter(const CpuCall<Problem>& call, void* scratch);

// Fills the table with the bins of all RoIs.
void FillTable(const Problem& p, const float* rois, BinTable& table, ThreadPool& threads);

}  // namespace mluop::psroipool
