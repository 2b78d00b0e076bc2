// SPDX-License-Identifier: Apache-2.0
// The resources of a call on the simulated MLU: the card's properties, a queue and scratch.
#pragma once

#include <memory>
#include <span>

#include "core/implementation.h"
#include "mlu/settings.h"
#include "mluops/runtime.h"

namespace mluop {

using MluProperties = bang::Card;

class MluContext {
 public:
  MluContext(cnrtQueue_t queue, const Workspace& workspace)
      : queue_(queue), workspace_(workspace) {}

  // The queue of the call: kernel<<<dim, type, call.context.queue()>>>(...). A failed launch ends
  // the call with its message.
  cnrtQueue_t queue() const { return queue_; }
  const MluProperties& properties() const { return bang::GetSettings().card; }

  // Returns `bytes` of GDRAM: the workspace if it is large enough, else an allocation for the time
  // of the call. Use it once per call. Throws std::bad_alloc.
  void* Scratch(size_t bytes);

 private:
  cnrtQueue_t queue_;
  Workspace workspace_;
  std::unique_ptr<void, void (*)(void*)> scratch_ = {nullptr, nullptr};
};

template <class Problem>
using MluCall = Call<Problem, MluContext>;
template <class Problem>
using MluImplementation = Implementation<Problem, MluContext>;
using MluOperator = DeviceOperator<MluContext>;
// A family with MLU kernels defines one, <folder>::kMluFamily.
using MluFamily = DeviceFamily<MluContext>;

// All of them; defined in src/ops/mlu_list.cc.
std::span<const MluFamily* const> MluFamilies();

}  // namespace mluop
