// SPDX-License-Identifier: Apache-2.0
// Checks the memory of a call: empty tensors, workspace, pointers, overlap, alignment.
#include "core/checks.h"
#include "core/dtype.h"
#include "core/error.h"

namespace mluop {
namespace {

// Returns the rule for an empty tensor: that of its row, with kSkipRows resolved.
WhenEmpty RuleOf(const TensorSpec& row, const mluOpTensorStruct& desc) {
  if (row.when_empty != kSkipRows) return row.when_empty;
  return desc.dims[0] == 0 ? kSkip : kReject;
}

// Returns the first empty tensor with that rule, or NULL.
const TensorSpec* FindEmpty(const Arguments& call, WhenEmpty rule) {
  for (int i = 0; i < call.spec->tensor_count; ++i) {
    const mluOpTensorStruct* desc = call.tensors[i].desc;
    if (desc == nullptr || desc->ElementCount() != 0) continue;
    if (RuleOf(call.spec->tensors[i], *desc) == rule) return &call.spec->tensors[i];
  }
  return nullptr;
}

bool Overlap(const void* a, size_t a_size, const void* b, size_t b_size) {
  if (a_size == 0 || b_size == 0) return false;
  const auto a_first = reinterpret_cast<uintptr_t>(a);
  const auto b_first = reinterpret_cast<uintptr_t>(b);
  return a_first < b_first ? b_first - a_first < a_size : a_first - b_first < b_size;
}

mluOpStatus_t FailOverlap(const OpSpec& spec, std::string_view output, std::string_view other) {
  return BrokenRule(spec.name, output)
      .Must("not overlap another buffer")
      .Got("an overlap with %.*s", MLUOP_SV(other));
}

}  // namespace

mluOpStatus_t CheckEmptyTensors(const Arguments& call, const TensorSpec** empty) {
  *empty = FindEmpty(call, kSkipFirst);
  if (*empty != nullptr) return MLUOP_STATUS_SUCCESS;
  if (const TensorSpec* row = FindEmpty(call, kReject)) {
    return BrokenRule(call.spec->name, row->name).Must("not be empty").Got("0 elements");
  }
  *empty = FindEmpty(call, kSkip);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t CheckWorkspace(Arguments& call) {
  if (call.workspace.size == 0 || call.workspace.data != nullptr) return MLUOP_STATUS_SUCCESS;
  return BrokenRule(call.spec->name, "workspace")
      .Must("be a pointer when workspace_size is %zu", call.workspace.size)
      .Got("NULL");
}

mluOpStatus_t CheckPointers(Arguments& call) {
  for (int i = 0; i < call.spec->tensor_count; ++i) {
    const TensorArgument& tensor = call.tensors[i];
    const std::string_view name = call.spec->tensors[i].name;
    if (tensor.desc == nullptr && tensor.data != nullptr) {
      return BrokenRule(call.spec->name, name)
          .Must("be NULL like its descriptor")
          .Got("%p", tensor.data);
    }
    if (tensor.ByteCount() == 0 || tensor.data != nullptr) continue;
    return BrokenRule(call.spec->name, name).Must("be a data pointer").Got("NULL");
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t CheckOverlap(Arguments& call) {
  const OpSpec& spec = *call.spec;
  for (int i = 0; i < spec.tensor_count; ++i) {
    if (spec.tensors[i].direction != kOut) continue;
    const TensorArgument& output = call.tensors[i];
    const size_t size = output.ByteCount();
    for (int j = 0; j < spec.tensor_count; ++j) {
      const TensorArgument& other = call.tensors[j];
      if (j == i || !Overlap(output.data, size, other.data, other.ByteCount())) continue;
      return FailOverlap(spec, spec.tensors[i].name, spec.tensors[j].name);
    }
    if (Overlap(output.data, size, call.workspace.data, call.workspace.size)) {
      return FailOverlap(spec, spec.tensors[i].name, "workspace");
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t CheckAlignment(Arguments& call) {
  for (int i = 0; i < call.spec->tensor_count; ++i) {
    const TensorArgument& tensor = call.tensors[i];
    if (tensor.ByteCount() == 0) continue;
    const size_t element = SizeOf(tensor.desc->dtype);
    if (reinterpret_cast<uintptr_t>(tensor.data) % element == 0) continue;
    return BrokenRule(call.spec->name, call.spec->tensors[i].name)
        .Must("be aligned to its element size of %zu bytes", element)
        .Got("%p", tensor.data);
  }
  return MLUOP_STATUS_SUCCESS;
}

bool WorkspaceOverlapsInput(const Arguments& call) {
  for (int i = 0; i < call.spec->tensor_count; ++i) {
    const TensorArgument& tensor = call.tensors[i];
    if (Overlap(tensor.data, tensor.ByteCount(), call.workspace.data, call.workspace.size)) {
      return true;
    }
  }
  return false;
}

}  // namespace mluop
