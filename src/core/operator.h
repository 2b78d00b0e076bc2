// SPDX-License-Identifier: Apache-2.0
// Operators and families, and Execute, which every C entry point calls.
#pragma once

#include <initializer_list>
#include <span>

#include "core/arguments.h"
#include "core/handle.h"

namespace mluop {

struct Operator {
  OpSpec spec;
  // The symbol or attribute that counts independent items: "R" for RoIs. In forward, output item i
  // depends only on input item i. Empty: the operator has no such dimension.
  std::string_view item = {};
};

// Validates a call and runs it on the handle's device. Attributes and tensors are in table order.
mluOpStatus_t Execute(const Operator& op, mluOpHandle_t handle,
                      std::initializer_list<Value> attributes,
                      std::initializer_list<TensorArgument> tensors, Workspace workspace = {});

// Execute for arguments that are not validated yet.
mluOpStatus_t ExecuteCall(mluOpHandle_t handle, Arguments& arguments);

// Validates a getter's arguments and writes the workspace size of the handle's device; 0 if the
// call is a no-op.
mluOpStatus_t GetWorkspaceSize(mluOpHandle_t handle, Arguments arguments, size_t* workspace_size);

// Each family defines one, <folder>::kFamily, and has a line in ops/op_list.inc.
struct Family {
  std::string_view name;
  std::span<const Operator* const> operators;
  std::span<const OpSpec* const> getters;  // the tables of its workspace getters
};

std::span<const Family* const> Families();

// The tables of all families: operators and workspace getters.
std::span<const OpSpec* const> Tables();

}  // namespace mluop
