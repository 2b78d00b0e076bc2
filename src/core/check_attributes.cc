// SPDX-License-Identifier: Apache-2.0
// Checks the attributes, and the relations between them.
#include <cmath>
#include <cstdio>

#include "core/checks.h"
#include "core/error.h"

namespace mluop {
namespace {

mluOpStatus_t CheckReal(const OpSpec& spec, const AttributeSpec& row, double value) {
  if (value > 0 && std::isfinite(value)) return MLUOP_STATUS_SUCCESS;
  return FailArgument(MLUOP_STATUS_BAD_PARAM, spec, row.name, " must be > 0 and finite, got %.9g",
                      value);
}

mluOpStatus_t CheckInteger(const OpSpec& spec, const AttributeSpec& row, double value) {
  if (value >= static_cast<double>(row.min) && value <= static_cast<double>(row.max)) {
    if (value <= static_cast<double>(row.supported)) return MLUOP_STATUS_SUCCESS;
    return FailArgument(MLUOP_STATUS_NOT_SUPPORTED, spec, row.name,
                        " must be at most %lld, got %.0f", static_cast<long long>(row.supported),
                        value);
  }
  const auto min = static_cast<long long>(row.min);
  const auto max = static_cast<long long>(row.max);
  if (row.max == INT32_MAX) {
    return FailArgument(MLUOP_STATUS_BAD_PARAM, spec, row.name, " must be >= %lld, got %.0f", min,
                        value);
  }
  if (max == min + 1) {
    return FailArgument(MLUOP_STATUS_BAD_PARAM, spec, row.name, " must be %lld or %lld, got %.0f",
                        min, max, value);
  }
  return FailArgument(MLUOP_STATUS_BAD_PARAM, spec, row.name, " must be in [%lld, %lld], got %.0f",
                      min, max, value);
}

}  // namespace

mluOpStatus_t CheckAttributes(const Arguments& call) {
  const OpSpec& spec = *call.spec;
  for (int i = 0; i < spec.attribute_count; ++i) {
    const AttributeSpec& row = spec.attributes[i];
    const double value = call.attributes[i].number;
    const mluOpStatus_t status = row.kind == AttributeSpec::kPositiveReal
                                     ? CheckReal(spec, row, value)
                                     : CheckInteger(spec, row, value);
    if (status != MLUOP_STATUS_SUCCESS) return status;
  }
  for (int i = 0; i < spec.relation_count; ++i) {
    const Relation& relation = spec.relations[i];
    const int first = call.Int(relation.first);
    const int second = call.Int(relation.second);
    if (first == second) continue;
    return FailArgument(MLUOP_STATUS_BAD_PARAM, spec, relation.first, " must be %.*s = %d, got %d",
                        MLUOP_SV(relation.second), second, first);
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop
