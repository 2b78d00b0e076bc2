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
    case kSkipRows: return "SUCCESS if dim 0 is 0";
  }
  return "";
}

Row AttributesOf(const OpSpec& spec) {
  Row attributes = Row::array();
  for (int i = 0; i < spec.attribute_count; ++i) {
    attributes.push_back({{"name", spec.attributes[i].name}, {"rule", Rule(spec.attributes[i])}});
  }
  return attributes;
}

// Returns the pairs of attributes that must be equal.
Row RelationsOf(const OpSpec& spec) {
  Row relations = Row::array();
  for (int i = 0; i < spec.relation_count; ++i) {
    relations.push_back(Row::array({spec.relations[i].first, spec.relations[i].second}));
  }
  return relations;
}

void PrintAttributes(const Row& attributes, const Row& relations) {
  for (const Row& row : attributes) {
    std::printf("  %-20s %s\n", row["name"].get<std::string>().c_str(),
                row["rule"].get<std::string>().c_str());
  }
  for (const Row& row : relations) {
    std::printf("  %s = %s\n", row[0].get<std::string>().c_str(),
                row[1].get<std::string>().c_str());
  }
}

Row TensorsOf(const OpSpec& spec) {
  const char* t = spec.types == kFloat ? "float" : "half or float";  // or double, if allowed
  Row tensors = Row::array();
  for (int i = 0; i < spec.tensor_count; ++i) {
    const TensorSpec& row = spec.tensors[i];
    const char* layout = row.layout == kNHWC ? "NHWC" : row.layout == kNCHW ? "NCHW" : "any layout";
    tensors.push_back({{"name", row.name},
                       {"direction", row.direction == kIn ? "in" : "out"},
                       {"type", row.type == kI32 ? "int32" : t},
                       {"layout", layout},
                       {"shape", Shape(spec, row)},
                       {"empty", Empty(row.when_empty)},
                       {"may_be_absent", row.optional_attribute >= 0}});
  }
  return tensors;
}

void PrintTensors(const Row& tensors) {
  const auto text = [](const Row& value) { return value.get<std::string>(); };
  for (const Row& row : tensors) {
    std::printf("  %-20s %-4s %-14s %-11s %-52s empty: %s%s\n", text(row["name"]).c_str(),
                text(row["direction"]).c_str(), text(row["type"]).c_str(),
                text(row["layout"]).c_str(), text(row["shape"]).c_str(), text(row["empty"]).c_str(),
                row["may_be_absent"] ? ", may be absent" : "");
  }
}

// Returns the options of a case with their values; the first one is the default.
Row OptionsOf(const OpSpec& spec, const testing::OperatorTest& test) {
  Row options = {{{"name", "data"}, {"choices", {"uniform", "special", "bits", "file"}}}};
  for (int i = 0; i < spec.tensor_count; ++i) {
    if (spec.tensors[i].optional_attribute < 0) continue;
    options.push_back({{"name", spec.tensors[i].name}, {"choices", {"given", "absent"}}});
  }
  for (const testing::Option& option : test.options) {
    options.push_back({{"name", option.name}, {"choices", Row::array()}});
    for (const std::string_view choice : option.choices) options.back()["choices"] += choice;
  }
  return options;
}

void PrintOptions(const Row& options) {
  std::printf("options of a case: seed=N");
  for (const Row& option : options) {
    std::string choices;
    for (const Row& choice : option["choices"]) {
      choices += (choices.empty() ? "" : "|") + choice.get<std::string>();
    }
    std::printf(" %s=%s", option["name"].get<std::string>().c_str(), choices.c_str());
  }
  std::printf("\n");
}

void AppendLines(const std::string& text, Row* rows) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) *rows += line;
}

// Describes how the library computes a case; "implementation" is missing if nothing is computed. Runs
// the case on devices that measure times: they report its loops or launches.
Row PlanRow(const testing::Case& c, const Selection& selection) {
  testing::PreparedCall prepared(c, testing::Placement::kFront);
  testing::DeviceCall call(prepared, testing::Placement::kFront);
  const Handle handle(selection.threads);
  const Device& device = *handle.get()->device;
  const Plan plan = PlanOf(call.arguments(), handle.get());
  Row row = {{"case", c.line}, {"device", device.name()}};
  if (plan.implementation.empty()) return row;
  row["implementation"] = plan.implementation;
  row["chosen_when"] = plan.when;
  row["scratch_bytes"] = plan.scratch;
  row["details"] = Row::array();
  AppendLines(plan.details, &row["details"]);
  row["also_applies"] = Row::array();
  for (const auto name : testing::ApplicableImplementations(call.arguments(), handle.get())) {
    if (name != plan.implementation) row["also_applies"] += name;
  }
  if (device.counts_only()) return row;
  const std::string error = call.Run(handle.get(), prepared.WantedWorkspace(handle.get()));
  if (!error.empty()) throw std::runtime_error(c.line + ": " + error);
  AppendLines(device.CallCounters(), &row["details"]);
  return row;
}

void PrintPlan(const std::string& op, const Row& row) {
  const auto text = [&](const char* key) { return row[key].get<std::string>(); };
  if (!row.contains("implementation")) {
    std::printf("%s: nothing to compute\n", text("case").c_str());
    return;
  }
  std::printf("%s:%s on %s\n  chosen when  %s\n  scratch      %zu bytes\n", op.c_str(),
              text("implementation").c_str(), text("device").c_str(), text("chosen_when").c_str(),
              row["scratch_bytes"].get<size_t>());
  for (const Row& line : row["details"]) std::printf("  %s\n", line.get<std::string>().c_str());
  std::printf("  also applies");
  for (const Row& name : row["also_applies"]) std::printf(" %s", name.get<std::string>().c_str());
  std::printf("\n");
}

}  // namespace

std::string RuleText(const AttributeSpec& row) { return Rule(row); }
std::string ShapeText(const OpSpec& spec, const TensorSpec& row) { return Shape(spec, row); }
std::string EmptyText(WhenEmpty rule) { return Empty(rule); }

int List(Row* document) {
  Row families = Row::array();
  for (const Family* family : Families()) {
    std::printf("%s\n", Text(family->name).c_str());
    Row operators = Row::array();
    for (const Operator* op : family->operators) {
      std::printf("  %-32s", Text(op->spec.name).c_str());
      Row names = Row::array();
      for (const ImplementationInfo& info : CpuDevice()->Implementations(op->spec)) {
        std::printf(" %s", Text(info.name).c_str());
        names.push_back(info.name);
      }
      std::printf("\n");
      operators.push_back({{"name", op->spec.name}, {"implementations", names}});
    }
    families.push_back({{"name", family->name}, {"operators", operators}});
  }
  *document = {{"families", families}};
  return 0;
}

int Describe(const std::string& name, Row* document) {
  const Operator* op = testing::FindOperator(name);
  if (op == nullptr) {
    std::fprintf(stderr, "mluop: operator must be a name from mluop list, got %s\n", name.c_str());
    return 2;
  }
  const Row attributes = AttributesOf(op->spec), relations = RelationsOf(op->spec);
  const Row tensors = TensorsOf(op->spec);
  const Row options = OptionsOf(op->spec, *testing::FindOperatorTest(name));
  std::printf("%s\nattributes\n", name.c_str());
  PrintAttributes(attributes, relations);
  std::printf("tensors\n");
  PrintTensors(tensors);
  PrintOptions(options);
  *document = {{"operator", name},
               {"attributes", attributes},
               {"equal_attributes", relations},
               {"tensors", tensors},
               {"options", options}};
  return 0;
}

int DescribePlans(const Selection& selection, Row* document) {
  UseDevice(selection);
  Row plans = Row::array();
  for (const testing::Case& c : SelectCases(selection)) {
    plans.push_back(PlanRow(c, selection));
    PrintPlan(Text(c.test->name), plans.back());
  }
  *document = {{"plans", plans}};
  return 0;
}

}  // namespace mluop::tool
