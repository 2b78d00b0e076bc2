// SPDX-License-Identifier: Apache-2.0
// mluop list and mluop describe: print the operators' tables.
#include <cstdio>
#include <sstream>
#include <string>

#include "commands.h"
#include "core/handle.h"
#include "testing/device_call.h"

namespace mluop::tool {
namespace {

std::string Text(std::string_view view) { return std::string(view); }

std::string Rule(const AttributeSpec& row) {
  if (row.kind == AttributeSpec::kPositiveReal) return "> 0 and finite";
  if (row.min == INT32_MIN) return "any integer";
  if (row.max == INT32_MAX) return ">= " + std::to_string(row.min);
  const std::string min = std::to_string(row.min), max = std::to_string(row.max);
  return row.max == row.min + 1 ? min + " or " + max : "in [" + min + ", " + max + "]";
}

std::string Shape(const OpSpec& spec, const TensorSpec& row) {
  std::string text = "[";
  for (int d = 0; d < row.rank; ++d) {
    text += d == 0 ? "" : ", ";
    for (int f = 0; f < row.dims[d].factor_count; ++f) {
      const Factor& factor = row.dims[d].factors[f];
      text += f == 0 ? "" : "*";
      switch (factor.kind) {
        case Factor::kLiteral: text += std::to_string(factor.value); break;
        case Factor::kAttribute: text += Text(spec.attributes[factor.value].name); break;
        case Factor::kSymbol: text += Text(spec.symbols[factor.value]); break;
      }
    }
  }
  return text + "]";
}

const char* Empty(WhenEmpty rule) {
  switch (rule) {
    case kReject: return "BAD_PARAM";
    case kSkip:
    case kSkipFirst: return "SUCCESS, nothing is written";
    case kCompute: return "computed without it";
  }
  return "";
}

void PrintAttributes(const OpSpec& spec) {
  for (int i = 0; i < spec.attribute_count; ++i) {
    std::printf("  %-20s %s\n", Text(spec.attributes[i].name).c_str(),
                Rule(spec.attributes[i]).c_str());
  }
  for (int i = 0; i < spec.relation_count; ++i) {
    std::printf("  %s = %s\n", Text(spec.relations[i].first).c_str(),
                Text(spec.relations[i].second).c_str());
  }
}

void PrintTensors(const OpSpec& spec) {
  const char* t = spec.types == kFloat ? "float" : "half or float";  // or double, if allowed
  for (int i = 0; i < spec.tensor_count; ++i) {
    const TensorSpec& row = spec.tensors[i];
    const char* layout = row.layout == kNHWC ? "NHWC" : row.layout == kNCHW ? "NCHW" : "any layout";
    std::printf("  %-20s %-4s %-14s %-11s %-52s empty: %s%s\n", Text(row.name).c_str(),
                row.direction == kIn ? "in" : "out", row.type == kI32 ? "int32" : t, layout,
                Shape(spec, row).c_str(), Empty(row.when_empty),
                row.optional_attribute >= 0 ? ", may be absent" : "");
  }
}

void PrintOptions(const OpSpec& spec, const testing::OperatorTest& test) {
  std::printf("options of a case: seed=N data=uniform|special|bits");
  for (int i = 0; i < spec.tensor_count; ++i) {
    if (spec.tensors[i].optional_attribute < 0) continue;
    std::printf(" %s=given|absent", Text(spec.tensors[i].name).c_str());
  }
  for (const testing::Option& option : test.options) {
    std::printf(" %s=", Text(option.name).c_str());
    for (size_t i = 0; i < option.choices.size(); ++i) {
      std::printf("%s%s", i == 0 ? "" : "|", Text(option.choices[i]).c_str());
    }
  }
  std::printf("\n");
}

}  // namespace

int List() {
  for (const Family* family : Families()) {
    std::printf("%s\n", Text(family->name).c_str());
    for (const Operator* op : family->operators) {
      std::printf("  %-32s", Text(op->spec.name).c_str());
      for (const std::string_view name : CpuDevice()->Implementations(op->spec)) {
        std::printf(" %s", Text(name).c_str());
      }
      std::printf("\n");
    }
  }
  return 0;
}

int Describe(const std::string& name) {
  const Operator* op = testing::FindOperator(name);
  if (op == nullptr) {
    std::fprintf(stderr, "mluop: operator must be a name from mluop list, got %s\n", name.c_str());
    return 2;
  }
  std::printf("%s\nattributes\n", name.c_str());
  PrintAttributes(op->spec);
  std::printf("tensors\n");
  PrintTensors(op->spec);
  PrintOptions(op->spec, *testing::FindOperatorTest(name));
  return 0;
}

int DescribePlans(const Selection& selection) {
  UseDevice(selection);
  for (const testing::Case& c : SelectCases(selection)) {
    testing::PreparedCall prepared(c, testing::Placement::kFront);
    const testing::DeviceCall call(prepared, testing::Placement::kFront);
    const Handle handle(selection.threads);
    const Plan plan = PlanOf(call.arguments(), handle.get());
    if (plan.implementation.empty()) {
      std::printf("%s: nothing to compute\n", c.line.c_str());
      continue;
    }
    std::printf("%s:%s on %s\n  chosen when  %s\n  scratch      %zu bytes\n",
                Text(c.test->name).c_str(), Text(plan.implementation).c_str(),
                handle.get()->device->name(), Text(plan.when).c_str(), plan.scratch);
    std::istringstream details(plan.details);
    for (std::string line; std::getline(details, line);) std::printf("  %s\n", line.c_str());
    std::printf("  also applies");
    for (const auto name : testing::ApplicableImplementations(call.arguments(), handle.get())) {
      if (name != plan.implementation) std::printf(" %s", Text(name).c_str());
    }
    std::printf("\n");
  }
  return 0;
}

}  // namespace mluop::tool
