// SPDX-License-Identifier: Apache-2.0
#include "testing/broken_rules.h"

#include <algorithm>
#include <limits>

namespace mluop::testing {
namespace {

using std::string;

constexpr mluOpStatus_t kBad = MLUOP_STATUS_BAD_PARAM;
constexpr mluOpStatus_t kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
constexpr int64_t kLimit = int64_t{1} << 31;  // elements of a tensor

using Rules = std::vector<BrokenRule>;

void Add(Rules* rules, const char* group, const string& rule, mluOpStatus_t status,
         const std::vector<string>& arguments, const std::function<void(TableCall&)>& apply) {
  rules->push_back({group, rule, status, arguments, apply});
}

string Name(const TensorSpec& row) { return string(row.name); }

// Returns the dims that a message about dim `d` of tensor `own` may name: all dims that share a
// variable with it.
std::vector<string> DimsSharing(const OpSpec& spec, int own, int d) {
  const DimSpec& dim = spec.tensors[own].dims[d];
  std::vector<string> names = {Shape(spec.tensors[own], d)};
  for (const Variable& variable : VariablesOf(spec)) {
    if (!DependsOn(dim, variable)) continue;
    for (int t = 0; t < spec.tensor_count; ++t) {
      for (int other = 0; other < spec.tensors[t].rank; ++other) {
        const bool shares = DependsOn(spec.tensors[t].dims[other], variable);
        if (shares) names.push_back(Shape(spec.tensors[t], other));
      }
    }
  }
  return names;
}

void AddDescriptors(const OpSpec& spec, Rules* rules) {
  Add(rules, "descriptor", "the handle must not be NULL", kBad, {"handle"},
      [](TableCall& call) { call.handle = nullptr; });
  for (int t = 0; t < spec.tensor_count; ++t) {
    const TensorSpec& row = spec.tensors[t];
    if (row.optional_attribute < -1) continue;  // may always be NULL
    Add(rules, "descriptor", Name(row) + "_desc must not be NULL", kBad, {Name(row) + "_desc"},
        [t](TableCall& call) { call.tensor(t).desc = nullptr; });
  }
  for (int t = 0; t < spec.tensor_count; ++t) {
    const TensorSpec& row = spec.tensors[t];
    Add(rules, "rank", Name(row) + " must have " + std::to_string(row.rank) + " dims", kBad,
        {Name(row)}, [t](TableCall& call) {
          std::vector<int64_t> dims = call.Dims(t);
          dims.push_back(1);
          call.SetDims(t, dims);
        });
  }
}

void AddTypes(const OpSpec& spec, Rules* rules) {
  const string types = spec.types == kFloat ? "float" : "half or float";
  std::vector<string> data;
  for (int t = 0; t < spec.tensor_count; ++t) {
    const TensorSpec& row = spec.tensors[t];
    if (row.type == kT) data.push_back(Name(row) + ".dtype");
    Add(rules, "type", Name(row) + " must be " + (row.type == kT ? types : "int32"), kBad,
        {Name(row) + ".dtype"}, [t](TableCall& call) { call.desc(t).dtype = MLUOP_DTYPE_INT8; });
  }
  if (spec.types == kFloat || data.size() < 2) return;
  Add(rules, "type", "all data tensors must have one type", kBad, data, [](TableCall& call) {
    int t = 0;
    while (call.row(t).type != kT) ++t;
    call.desc(t).dtype = MLUOP_DTYPE_HALF;
  });
}

void AddLayouts(const OpSpec& spec, Rules* rules) {
  for (int t = 0; t < spec.tensor_count; ++t) {
    const TensorSpec& row = spec.tensors[t];
    if (row.layout == kAnyLayout) continue;
    const bool nhwc = row.layout == kNHWC;
    const auto other = nhwc ? MLUOP_LAYOUT_NCHW : MLUOP_LAYOUT_NHWC;
    Add(rules, "layout", Name(row) + " must be " + (nhwc ? "NHWC" : "NCHW"), kBad,
        {Name(row) + ".layout"}, [t, other](TableCall& call) { call.desc(t).layout = other; });
  }
}

void AddAttribute(const AttributeSpec& row, int index, Rules* rules) {
  const string name(row.name);
  const auto add = [&](const string& rule, mluOpStatus_t status, double value) {
    Add(rules, "attribute", name + rule, status, {name},
        [index, value](TableCall& call) { call.attribute(index) = value; });
  };
  if (row.kind == AttributeSpec::kPositiveReal) {
    add(" must be > 0", kBad, 0);
    return add(" must be finite", kBad, std::numeric_limits<double>::infinity());
  }
  if (row.min > INT32_MIN)
    add(" must be >= " + std::to_string(row.min), kBad, static_cast<double>(row.min - 1));
  if (row.max < INT32_MAX)
    add(" must be <= " + std::to_string(row.max), kBad, static_cast<double>(row.max + 1));
  if (row.supported < row.max)
    add(" is supported up to " + std::to_string(row.supported), kNotSupported,
        static_cast<double>(row.supported + 1));
}

void AddShapes(const OpSpec& spec, Rules* rules) {
  for (int i = 0; i < spec.relation_count; ++i) {
    const Relation& relation = spec.relations[i];
    const int first = spec.AttributeIndex(relation.first);
    Add(rules, "shape", string(relation.first) + " must equal " + string(relation.second), kBad,
        {string(relation.first)}, [first](TableCall& call) { call.attribute(first) += 1; });
  }
  for (int t = 0; t < spec.tensor_count; ++t) {
    const TensorSpec& row = spec.tensors[t];
    for (int d = 0; d < row.rank; ++d) {
      if (IsFree(spec, row.dims[d])) continue;  // any size is valid
      Add(rules, "shape", Shape(row, d) + " must agree with the other sizes", kBad,
          DimsSharing(spec, t, d), [t, d](TableCall& call) {
            std::vector<int64_t> dims = call.Dims(t);
            dims[d] += 1;
            call.SetDims(t, dims);
          });
    }
  }
  for (int t = 0; t < spec.tensor_count; ++t) {
    const TensorSpec& row = spec.tensors[t];
    std::vector<string> names;
    for (int d = 0; d < row.rank; ++d) names.push_back(Stride(row, d));
    Add(rules, "stride", Name(row) + " must be packed", kNotSupported, names, [t](TableCall& call) {
      int d = 0;
      while (call.desc(t).dims[d] == 1) ++d;  // its stride is ignored
      call.desc(t).strides[d] += 1;
    });
  }
}

// Returns the first symbol or, without one, the first attribute that is a size.
Variable FirstSize(const OpSpec& spec) {
  if (spec.symbol_count > 0) return {Factor::kSymbol, 0};
  for (const Variable& variable : VariablesOf(spec)) {
    for (int t = 0; t < spec.tensor_count; ++t) {
      if (DependsOn(spec.tensors[t], variable)) return variable;
    }
  }
  return {};
}

// Makes the tensors that have the first size too large. An attribute is at most INT32_MAX, so that
// it makes a tensor too large and never a dim.
void AddSizes(const OpSpec& spec, Rules* rules) {
  const Variable size = FirstSize(spec);
  const bool is_symbol = size.kind == Factor::kSymbol;
  if (!is_symbol && !spec.limited) return;
  std::vector<string> names;
  for (int t = 0; t < spec.tensor_count; ++t) {
    const TensorSpec& row = spec.tensors[t];
    if (!DependsOn(row, size)) continue;
    if (spec.limited) names.push_back(Name(row));
    for (int d = 0; d < row.rank && !spec.limited; ++d) names.push_back(Shape(row, d));
  }
  const char* const rule =
      spec.limited ? "tensors must have fewer than 2^31 elements" : "dims must be below 2^31";
  const int64_t value = is_symbol ? kLimit : kLimit - 1;
  Add(rules, "size", rule, kNotSupported, names, [size, value](TableCall& call) {
    for (const Variable& other : VariablesOf(call.spec())) call.Set(other, 1);
    call.Set(size, value);
  });
}

// Returns whether a tensor that `symbol` = 0 empties is rejected.
bool IsRejected(const TensorSpec& row, const Variable& symbol) {
  return row.when_empty == kReject ||
         (row.when_empty == kSkipRows && !DependsOn(row.dims[0], symbol));
}

// Sets a symbol to 0, so that a tensor that must not be empty is. Skips symbols that also empty a
// tensor with rule kSkipFirst, which is checked before.
void AddEmpty(const OpSpec& spec, Rules* rules) {
  for (int s = 0; s < spec.symbol_count; ++s) {
    const Variable symbol = {Factor::kSymbol, s};
    std::vector<string> rejected;
    bool skipped_first = false;
    for (int t = 0; t < spec.tensor_count; ++t) {
      if (!DependsOn(spec.tensors[t], symbol)) continue;
      skipped_first |= spec.tensors[t].when_empty == kSkipFirst;
      if (IsRejected(spec.tensors[t], symbol)) rejected.push_back(Name(spec.tensors[t]));
    }
    if (skipped_first || rejected.empty()) continue;
    Add(rules, "zero elements", string(spec.symbols[s]) + " must not be 0", kBad, rejected,
        [symbol](TableCall& call) { call.Set(symbol, 0); });
  }
}

void AddMemory(const Entry& entry, Rules* rules) {
  const OpSpec& spec = *entry.spec;
  if (entry.getter != nullptr) {
    Add(rules, "pointer", "workspace_size must not be NULL", kBad, {"workspace_size"},
        [](TableCall& call) { call.size_pointer = nullptr; });
    return;
  }
  if (entry.has_workspace) {
    Add(rules, "workspace", "workspace must not be NULL if its size is not 0", kBad, {"workspace"},
        [](TableCall& call) {
          call.arguments.workspace = {nullptr, 16};
        });
  }
  for (int t = 0; t < spec.tensor_count; ++t) {
    const TensorSpec& row = spec.tensors[t];
    Add(rules, "pointer", Name(row) + " must not be NULL", kBad, {Name(row)},
        [t](TableCall& call) { call.tensor(t).data = nullptr; });
    Add(rules, "pointer", Name(row) + " must be aligned to its element size", kBad, {Name(row)},
        [t](TableCall& call) { call.tensor(t).data = call.spare() + 1; });
  }
  for (int t = 0; t < spec.tensor_count; ++t) {
    if (spec.tensors[t].direction != kOut) continue;
    Add(rules, "overlap", Name(spec.tensors[t]) + " must not overlap an input", kBad,
        {Name(spec.tensors[t]), Name(spec.tensors[0])}, [t](TableCall& call) {
          call.Move(0, call.spare());
          call.Move(t, call.spare());
        });
  }
}

}  // namespace

std::vector<BrokenRule> BrokenRulesOf(const Entry& entry) {
  const OpSpec& spec = *entry.spec;
  Rules rules;
  AddDescriptors(spec, &rules);
  AddTypes(spec, &rules);
  AddLayouts(spec, &rules);
  for (int i = 0; i < spec.attribute_count; ++i) AddAttribute(spec.attributes[i], i, &rules);
  AddShapes(spec, &rules);
  AddSizes(spec, &rules);
  AddEmpty(spec, &rules);
  AddMemory(entry, &rules);
  return rules;
}

std::string ErrorOf(const BrokenRule& rule, const TableCall& call, const Outcome& outcome) {
  if (outcome.status != rule.status) {
    return string("status must be ") + mluOpGetErrorString(rule.status) + ", got " +
           mluOpGetErrorString(outcome.status) + " (" + outcome.message + ")";
  }
  if (!call.untouched()) return "a refused call must write nothing";
  const string start = string(call.spec().name) + ": ";
  const size_t must = outcome.message.find(" must "), got = outcome.message.rfind(", got ");
  const bool complete = outcome.message.starts_with(start) && must != string::npos &&
                        got != string::npos && must < got;
  if (!complete) return "the message must name operator, rule and value, got " + outcome.message;
  const string argument = outcome.message.substr(start.size(), must - start.size());
  const bool named =
      std::find(rule.arguments.begin(), rule.arguments.end(), argument) != rule.arguments.end();
  return named ? "" : "the message must name " + rule.arguments[0] + ", got " + outcome.message;
}

}  // namespace mluop::testing
