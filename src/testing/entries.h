// SPDX-License-Identifier: Apache-2.0
// All operators and getters with their tables, and queries about the sizes in a table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "testing/operator_test.h"

namespace mluop::testing {

// An operator, or a workspace getter.
struct Entry {
  const OpSpec* spec = nullptr;
  const Operator* op = nullptr;        // NULL for a getter
  const OperatorTest* test = nullptr;  // of the operator
  const GetterTest* getter = nullptr;
  bool has_workspace = false;

  std::string name() const { return std::string(spec->name); }
};

std::vector<Entry> AllEntries();
std::vector<Entry> OperatorEntries();

// Returns the entries for which `wanted(entry)` is true.
template <typename Predicate>
std::vector<Entry> Filter(const std::vector<Entry>& entries, Predicate wanted) {
  std::vector<Entry> found;
  for (const Entry& entry : entries) {
    if (wanted(entry)) found.push_back(entry);
  }
  return found;
}

// A symbol, or an attribute that occurs in a shape.
struct Variable {
  Factor::Kind kind;
  int index;
};
std::vector<Variable> VariablesOf(const OpSpec& spec);
bool DependsOn(const DimSpec& dim, const Variable& variable);
bool DependsOn(const TensorSpec& row, const Variable& variable);
std::string_view NameOf(const OpSpec& spec, const Variable& variable);
// Returns whether the dim is a symbol that occurs in no other dim.
bool IsFree(const OpSpec& spec, const DimSpec& dim);

}  // namespace mluop::testing
