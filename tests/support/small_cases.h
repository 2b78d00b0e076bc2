// SPDX-License-Identifier: Apache-2.0
// The built-in cases up to a size, and the outputs of a call as bytes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "testing/prepared_call.h"

namespace mluop::testing {

inline double TensorBytes(const Case& test_case) { return AllBytes(CaseCall(test_case).arguments); }

// The cases whose tensors have at most `max_bytes`; of one operator if `name` is given.
inline std::vector<Case> CasesWithin(double max_bytes, std::string_view name = {}) {
  std::vector<Case> cases;
  for (const FamilyTest* family : FamilyTests()) {
    for (const CaseLine& line : ParseCases(CasesOf(family->name))) {
      Case parsed = ParseCase(line.line);
      if (!name.empty() && parsed.op->spec.name != name) continue;
      if (TensorBytes(parsed) <= max_bytes) cases.push_back(std::move(parsed));
    }
  }
  return cases;
}

// Up to `per_operator` cases of each operator, spread by size up to `max_bytes`, none of them
// empty.
inline std::vector<std::string> SmallCases(size_t per_operator, double max_bytes) {
  std::map<std::string_view, std::multimap<double, std::string>> by_size;
  for (const Case& parsed : CasesWithin(max_bytes)) {
    const double bytes = TensorBytes(parsed);
    if (bytes == 0) continue;
    by_size[parsed.op->spec.name].emplace(bytes, parsed.line);
  }
  std::vector<std::string> lines;
  for (const auto& [name, cases] : by_size) {
    size_t index = 0, taken = 0;
    for (const auto& [bytes, line] : cases) {
      const bool last = ++index == cases.size();
      if (!last && index * per_operator < (taken + 1) * cases.size()) continue;
      if (taken++ < per_operator) lines.push_back(line);
    }
  }
  return lines;
}

// The bytes of all outputs in order.
inline std::vector<char> OutputsOf(const PreparedCall& call) {
  std::vector<char> bytes;
  for (const OutputRule& rule : call.test_case().test->outputs) {
    const TensorArgument& tensor = call.Output(rule.tensor);
    const char* data = static_cast<const char*>(tensor.data);
    bytes.insert(bytes.end(), data, data + tensor.ByteCount());
  }
  return bytes;
}

}  // namespace mluop::testing
