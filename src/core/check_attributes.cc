// SPDX-License-Identifier: Apache-2.0
// Checks the attributes, and the relations between them.
#include <cinttypes>
#include <cmath>

#include "core/checks.h"
#include "core/error.h"

namespace mluop {
namespace {

mluOpStatus_t CheckReal(const OpSpec& spec, const AttributeSpec& row, double value) {
  if (value > 0 && std::isfinite(value)) return MLUOP_STATUS_SUCCESS;
  return BrokenRule(spec.name, row.name).Must("be > 0 and finite").Got("%.9g", value);
}

mluOpStatus_t CheckInteger(const OpSpec& spec, const AttributeSpec& row, double value) {
  const bool legal = value >= static_cast<double>(row.min) && value <= static_cast<double>(row.max);
  if (legal && value <= static_cast<double>(row.supported)) return MLUOP_STATUS_SUCCESS;
  BrokenRule rule(spec.name, row.name);
  if (legal) {
    return rule.With(MLUOP_STATUS_NOT_SUPPORTED)
        .Must("be at most %" PRId64, row.supported)
        .Got("%.0f", value);
  }
  if (row.max == INT32_MAX) {
    rule.Must("be >= %" PRId64, row.min);
  } else if (row.max == row.min + 1) {
    rule.Must("be %" PRId64 " or %" PRId64, row.min, row.max);
  } else {
    rule.Must("be in [%" PRId64 ", %" PRId64 "]", row.min, row.max);
  }
  return rule.Got("%.0f", value);
}

}  // namespace

mluOpStatus_t CheckAttributes(Arguments& call) {
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
    return BrokenRule(spec.name, relation.first)
        .Must("be %.*s = %d", MLUOP_SV(relation.second), second)
        .Got("%d", first);
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop
