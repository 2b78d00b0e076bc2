// SPDX-License-Identifier: Apache-2.0
// An operator: its table and its kernels; and the one way in which every C entry point runs it.
#pragma once

#include <initializer_list>
#include <span>

#include "core/arguments.h"
#include "core/device.h"
#include "core/handle.h"

namespace mluop {

class Context;

struct Operator {
  // Runs a validated call. Checks nothing again.
  using Kernel = mluOpStatus_t (*)(const Arguments& arguments, Context& context);

  OpSpec spec;
  Kernel cpu;
};

// What a kernel of the CPU needs beside its arguments.
class Context {
 public:
  Context(mluOpContext& handle, const Workspace& workspace)
      : handle_(handle), workspace_(workspace) {}

  ThreadPool& threads() { return handle_.threads; }

  // `bytes` of memory aligned to kAlignment, from the caller's workspace where it is at least
  // WorkspaceFor(bytes), else from the handle. Once per kernel: a second call gives the same memory
  // again. Throws std::bad_alloc.
  void* Scratch(size_t bytes);

 private:
  mluOpContext& handle_;
  Workspace workspace_;
};

// Validates, and runs it on the handle's device. Attributes and tensors in the table's order.
mluOpStatus_t Execute(const Operator& op, mluOpHandle_t handle,
                      std::initializer_list<Value> attributes,
                      std::initializer_list<TensorArgument> tensors, Workspace workspace = {});

// The workspace that Context::Scratch(bytes) takes, whatever the alignment of its pointer; a smaller
// one is as good as none, even where its pointer happens to be aligned.
constexpr size_t WorkspaceFor(size_t bytes) { return bytes == 0 ? 0 : bytes + kAlignment; }

// Validates a getter's arguments and writes `size(arguments)` or, where there is nothing to do, 0.
mluOpStatus_t GetWorkspaceSize(const OpSpec& spec, mluOpHandle_t handle,
                               std::initializer_list<Value> attributes,
                               std::initializer_list<const mluOpTensorStruct*> tensors,
                               size_t* workspace_size, WorkspaceSize size);

// A family registers itself with a line in ops/op_list.inc and one of these, <folder>::kFamily.
struct Family {
  std::string_view name;
  std::span<const Operator* const> operators;
  std::span<const OpSpec* const> getters;  // the tables of its workspace getters
};

std::span<const Family* const> Families();

}  // namespace mluop
