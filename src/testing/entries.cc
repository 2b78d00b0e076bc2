// SPDX-License-Identifier: Apache-2.0
#include "testing/entries.h"

namespace mluop::testing {

std::vector<Entry> AllEntries() {
  std::vector<Entry> entries;
  for (const FamilyTest* family : FamilyTests()) {
    for (const OperatorTest& test : family->operators) {
      const Operator* op = FindOperator(test.name);
      entries.push_back({&op->spec, op, &test, nullptr, test.has_workspace()});
    }
    for (const GetterTest& getter : family->getters) {
      entries.push_back({FindGetter(getter.name), nullptr, nullptr, &getter, false});
    }
  }
  return entries;
}

std::vector<Entry> OperatorEntries() {
  return Filter(AllEntries(), [](const Entry& entry) { return entry.op != nullptr; });
}

bool DependsOn(const DimSpec& dim, const Variable& variable) {
  for (int f = 0; f < dim.factor_count; ++f) {
    const Factor& factor = dim.factors[f];
    if (factor.kind == variable.kind && factor.value == variable.index) return true;
  }
  return false;
}

bool DependsOn(const TensorSpec& row, const Variable& variable) {
  for (int d = 0; d < row.rank; ++d) {
    if (DependsOn(row.dims[d], variable)) return true;
  }
  return false;
}

std::vector<Variable> VariablesOf(const OpSpec& spec) {
  std::vector<Variable> variables;
  for (int i = 0; i < spec.symbol_count; ++i) variables.push_back({Factor::kSymbol, i});
  for (int i = 0; i < spec.attribute_count; ++i) {
    for (int t = 0; t < spec.tensor_count; ++t) {
      if (!DependsOn(spec.tensors[t], {Factor::kAttribute, i})) continue;
      variables.push_back({Factor::kAttribute, i});
      break;
    }
  }
  return variables;
}

bool IsFree(const OpSpec& spec, const DimSpec& dim) {
  if (!dim.IsBareSymbol()) return false;
  int mentions = 0;
  for (int t = 0; t < spec.tensor_count; ++t) {
    for (int d = 0; d < spec.tensors[t].rank; ++d) {
      mentions += DependsOn(spec.tensors[t].dims[d], {Factor::kSymbol, dim.factors[0].value});
    }
  }
  return mentions == 1;
}

std::string_view NameOf(const OpSpec& spec, const Variable& variable) {
  return variable.kind == Factor::kSymbol ? spec.symbols[variable.index]
                                          : spec.attributes[variable.index].name;
}

}  // namespace mluop::testing
