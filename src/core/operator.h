// SPDX-License-Identifier: Apache-2.0
// An operator, and the one way in which every C entry point runs it.
#pragma once

#include <initializer_list>
#include <span>

#include "core/arguments.h"
#include "core/handle.h"

namespace mluop {

struct Operator {
  OpSpec spec;
  // The dimension of independent results: a symbol or attribute such as "R" for RoIs. A forward
  // result depends on its own item alone. Empty: the operator has none.
  std::string_view item = {};
};

// Validates a call and runs it on the handle's device. Attributes and tensors in the table's order.
mluOpStatus_t Execute(const Operator& op, mluOpHandle_t handle,
                      std::initializer_list<Value> attributes,
                      std::initializer_list<TensorArgument> tensors, Workspace workspace = {});

// Validates a getter's arguments and writes what the handle's device wants as workspace; 0 where
// there is nothing to do.
mluOpStatus_t GetWorkspaceSize(const OpSpec& spec, mluOpHandle_t handle,
                               std::initializer_list<Value> attributes,
                               std::initializer_list<const mluOpTensorStruct*> tensors,
                               size_t* workspace_size);

// A family registers itself with a line in ops/op_list.inc and one of these, <folder>::kFamily.
struct Family {
  std::string_view name;
  std::span<const Operator* const> operators;
  std::span<const OpSpec* const> getters;  // the tables of its workspace getters
};

std::span<const Family* const> Families();

// The tables of all families: operators and workspace getters.
std::span<const OpSpec* const> Tables();

}  // namespace mluop
