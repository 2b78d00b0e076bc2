// SPDX-License-Identifier: Apache-2.0
#include "testing/prepared_call.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/checks.h"
#include "core/dtype.h"
#include "mluops/extensions.h"
#include "testing/element.h"

namespace mluop::testing {
namespace {

constexpr double kDoubleThreshold = 1e-13;  // of diff1 and diff2 if the type is double

std::string ElementText(const void* data, mluOpDataType_t dtype, int64_t i) {
  char text[64];
  if (dtype == MLUOP_DTYPE_INT32) {
    std::snprintf(text, sizeof(text), "%d", static_cast<const int32_t*>(data)[i]);
  } else {
    std::snprintf(text, sizeof(text), "%.*g", dtype == MLUOP_DTYPE_DOUBLE ? 17 : 9,
                  LoadValue(data, dtype, i));
  }
  return text;
}

bool StaysPoisoned(const TensorArgument& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.data);
  return std::all_of(bytes, bytes + tensor.ByteCount(), [](unsigned char b) { return b == 0xff; });
}

void AllowType(const Case& test_case, mluOpHandle_t handle) {
  if (test_case.dtype == MLUOP_DTYPE_DOUBLE) mluOpSetDoubleAllowed(handle, 1);
}

// Returns the criterion of an output. Outputs of type double that are not exact have one threshold,
// that of the contract.
OutputRule RuleOf(const OutputRule& rule, const TensorArgument& tensor) {
  const bool is_double = tensor.desc != nullptr && tensor.desc->dtype == MLUOP_DTYPE_DOUBLE;
  if (!is_double || rule.criterion == Criterion::kExact) return rule;
  return {rule.tensor, Criterion::kFixed, kDoubleThreshold};
}

// Returns whether the call writes no output: the library refuses it, or it has an empty tensor.
bool NothingToDo(const Arguments& arguments) {
  Arguments copy = arguments;
  copy.double_allowed = true;
  const TensorSpec* empty = nullptr;
  return Validate(copy, &empty) != MLUOP_STATUS_SUCCESS || empty != nullptr;
}

}  // namespace

mluOpStatus_t CallCase(const Case& test_case, mluOpHandle_t handle, const Arguments& arguments) {
  AllowType(test_case, handle);
  return test_case.test->call(handle, arguments);
}

PreparedCall::PreparedCall(const Case& test_case, Placement placement)
    : PreparedCall(test_case, placement,
                   [&](const Arguments& arguments) { FillInputs(test_case, arguments); }) {}

PreparedCall::PreparedCall(const Case& test_case, Placement placement,
                           const std::function<void(const Arguments&)>& fill)
    : case_(test_case), call_(test_case), placement_(placement) {
  Allocate(placement);
  fill(call_.arguments);
  ProtectInputs();
}

PreparedCall::PreparedCall(const PreparedCall& other, Placement placement)
    : case_(other.case_), call_(other.case_), placement_(placement) {
  Allocate(placement);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (arguments().spec->tensors[i].direction != kIn || buffers_[i].size() == 0) continue;
    std::memcpy(buffers_[i].data(), other.buffers_[i].data(), buffers_[i].size());
  }
  ProtectInputs();
}

void PreparedCall::Allocate(Placement placement) {
  for (int i = 0; i < arguments().spec->tensor_count; ++i) {
    buffers_.emplace_back(call_.arguments.tensors[i].ByteCount(), placement);
    TensorArgument& tensor = call_.arguments.tensors[i];
    tensor.data = tensor.desc == nullptr ? nullptr : buffers_.back().data();
  }
}

void PreparedCall::ProtectInputs() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (arguments().spec->tensors[i].direction == kIn) buffers_[i].MakeReadOnly();
  }
}

void PreparedCall::PoisonOutputs() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (arguments().spec->tensors[i].direction == kOut) buffers_[i].Poison();
  }
}

void PreparedCall::SetWorkspace(size_t bytes) {
  workspace_.clear();
  call_.arguments.workspace = {};
  if (bytes == 0) return;
  workspace_.emplace_back(bytes, placement_);
  workspace_.back().Poison();
  call_.arguments.workspace = {workspace_.back().data(), bytes};
}

size_t PreparedCall::WantedWorkspace(mluOpHandle_t handle) const {
  size_t size = 0;
  if (case_.test->workspace_size == nullptr) return 0;
  AllowType(case_, handle);
  if (case_.test->workspace_size(handle, arguments(), &size) != MLUOP_STATUS_SUCCESS) return 0;
  return size;
}

Baseline::Baseline(const PreparedCall& call) : nothing_to_do_(NothingToDo(call.arguments())) {
  if (nothing_to_do_) return;
  Arguments reference = call.arguments();
  Arguments plain = call.arguments();
  std::map<std::string, std::vector<char>, std::less<>> plain_bytes;
  const OpSpec& spec = *reference.spec;
  bool dynamic = false;
  for (const OutputRule& row : call.test_case().test->outputs) {
    const int index = spec.TensorIndex(row.tensor);
    TensorArgument& tensor = reference.tensors[index];
    const OutputRule rule = RuleOf(row, tensor);
    if (tensor.desc == nullptr) continue;
    Output& output = outputs_[std::string(rule.tensor)];
    std::vector<char>& own = plain_bytes[std::string(rule.tensor)];
    own.resize(tensor.ByteCount());
    plain.tensors[index].data = own.data();
    if (rule.criterion == Criterion::kExact || rule.criterion == Criterion::kFamily) {
      output.bytes.resize(tensor.ByteCount());
      tensor.data = output.bytes.data();
    } else {
      output.threshold = {rule.threshold, rule.threshold};
      dynamic |= rule.criterion == Criterion::kDynamic;
      output.values.resize(static_cast<size_t>(tensor.desc->ElementCount()));
      tensor.data = output.values.data();
    }
  }
  call.test_case().test->reference(reference);
  if (!dynamic) return;
  call.test_case().test->plain(plain);
  for (const OutputRule& row : call.test_case().test->outputs) {
    const OutputRule rule = RuleOf(row, call.Output(row.tensor));
    if (rule.criterion != Criterion::kDynamic || call.Output(rule.tensor).desc == nullptr) continue;
    Output& output = outputs_.find(rule.tensor)->second;
    const mluOpDataType_t dtype = call.Output(rule.tensor).desc->dtype;
    const Differences differences =
        testing::Compare(plain_bytes.find(rule.tensor)->second.data(), dtype, output.values.data(),
                         static_cast<int64_t>(output.values.size()));
    output.threshold = ThresholdFrom(differences, dtype);
  }
}

std::string Baseline::Compare(const PreparedCall& call, std::string* details,
                              std::vector<Comparison>* comparisons) const {
  for (const OutputRule& row : call.test_case().test->outputs) {
    const TensorArgument& tensor = call.Output(row.tensor);
    if (tensor.desc == nullptr) continue;
    const OutputRule rule = RuleOf(row, tensor);
    const std::string name(rule.tensor);
    if (nothing_to_do_) {
      if (!StaysPoisoned(tensor)) return name + " was written although the call is a no-op";
      continue;
    }
    const Output& output = outputs_.find(rule.tensor)->second;
    const int64_t count = tensor.desc->ElementCount();
    if (comparisons != nullptr) {
      comparisons->push_back({name, rule.criterion, {}, output.threshold});
    }
    if (rule.criterion == Criterion::kExact) {
      const int64_t i =
          FirstDifference(tensor.data, output.bytes.data(), count, tensor.desc->dtype);
      if (i < 0) continue;
      return name + "[" + std::to_string(i) + "] must be " +
             ElementText(output.bytes.data(), tensor.desc->dtype, i) + ", got " +
             ElementText(tensor.data, tensor.desc->dtype, i);
    }
    if (rule.criterion == Criterion::kFamily) {
      const std::string error =
          call.test_case().test->accept(call.arguments(), rule.tensor, output.bytes.data());
      if (!error.empty()) return name + ": " + error;
      continue;
    }
    const Differences differences =
        testing::Compare(tensor.data, tensor.desc->dtype, output.values.data(), count);
    if (comparisons != nullptr) comparisons->back().differences = differences;
    const bool bias = rule.criterion == Criterion::kDynamic;
    const std::string error = CheckDifferences(differences, output.threshold, bias);
    *details += " " + name + ": " + Format(differences);
    if (!error.empty()) return name + ": " + error + " (" + Format(differences) + ")";
  }
  return "";
}

}  // namespace mluop::testing
