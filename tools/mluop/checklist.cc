// SPDX-License-Identifier: Apache-2.0
// The checklist of an operator's table, and its parameter checks.
#include "html.h"
#include "operator_report.h"
#include "testing/broken_rules.h"
#include "testing/notes.h"

namespace mluop::tool {
namespace {

Row DevicesOf(const OpSpec& spec) {
  Row items = Row::array();
  const DeviceList& list = VisibleDeviceList();
  for (int i = 0; i < list.count; ++i) {
    std::string names;
    for (const ImplementationInfo& info : list.devices[i]->Implementations(spec)) {
      names += (names.empty() ? "" : ", ") + std::string(info.name);
    }
    items.push_back(std::string(list.devices[i]->name()) + ": " +
                    (names.empty() ? "not implemented" : names));
  }
  return items;
}

Row AttributesOf(const OpSpec& spec) {
  Row items = Row::array();
  for (int i = 0; i < spec.attribute_count; ++i) {
    const AttributeSpec& row = spec.attributes[i];
    std::string text = std::string(row.name) + " " + RuleText(row);
    if (row.kind == AttributeSpec::kInteger && row.supported < row.max) {
      text += ", up to " + std::to_string(row.supported) +
              ": no shape bounds it, and the work is proportional to it";
    }
    items.push_back(text);
  }
  return items;
}

// Returns the limits with their reasons and the result of a call beyond them: a dim or, in limited
// operators, a tensor of 2^31 elements. Limits of one device are notes of cases.txt.
Row SizeLimitsOf(const OpSpec& spec) {
  const char* const reason = spec.limited
                                 ? "because document 002 limits its tensors (section 3.7)"
                                 : "because indices into a dim are int32; offsets are 64-bit";
  Row items = Row::array();
  for (const testing::Entry& entry : testing::AllEntries()) {
    if (entry.name() != spec.name) continue;
    for (const testing::BrokenRule& rule : testing::BrokenRulesOf(entry)) {
      if (rule.group != "size") continue;
      testing::TableCall call(entry);
      rule.apply(call);
      const testing::Outcome outcome = call.Run();
      items.push_back(rule.rule + ", " + reason + ": " + mluOpGetErrorString(outcome.status));
    }
  }
  if (!spec.limited)
    items.push_back("tensors must have fewer than 2^60 elements, because byte counts are 64-bit");
  const std::string note = testing::NoteOf(spec.name, "limits");
  if (!note.empty()) items.push_back(note);
  return items;
}

const char* LayoutName(LayoutRule rule) {
  return rule == kNHWC ? "NHWC" : rule == kNCHW ? "NCHW" : "any layout";
}

}  // namespace

Row ChecklistOf(const OpSpec& spec) {
  Row tensors = Row::array(), empty = Row::array();
  const std::string types = spec.types == kFloat ? "float" : "half, float";
  for (int t = 0; t < spec.tensor_count; ++t) {
    const TensorSpec& row = spec.tensors[t];
    const std::string name(row.name);
    tensors.push_back(name + " " + ShapeText(spec, row) + ", " +
                      (row.type == kI32 ? "int32" : types) + ", " + LayoutName(row.layout) +
                      (row.optional_attribute >= 0 ? ", may be absent" : ""));
    empty.push_back(name + ": " + EmptyText(row.when_empty));
  }
  return {{"devices and implementations", DevicesOf(spec)},
          {"types", {types, "double if the handle allows it"}},
          {"tensors: shape, type, layout", tensors},
          {"attributes", AttributesOf(spec)},
          {"zero elements", empty},
          {"strides", {"packed; a dim of size 1 ignores its stride"}},
          {"size limits", SizeLimitsOf(spec)}};
}

std::string CriterionOf(const testing::OperatorTest& test) {
  std::string text;
  for (const testing::OutputRule& rule : test.outputs) {
    text += (text.empty() ? "" : "; ") + std::string(rule.tensor) + ": ";
    switch (rule.criterion) {
      case testing::Criterion::kExact: text += "equal bit for bit"; break;
      case testing::Criterion::kDynamic:
        text +=
            "diff1 and diff2 within ten times the error of the plain loops, diff4 in [0.25, "
            "0.75]";
        break;
      case testing::Criterion::kFixed:
        text += Format("diff1 and diff2 at most %g", rule.threshold);
        break;
      case testing::Criterion::kFamily:
        text += "equal, except where the reference has a near-tie";
        break;
    }
  }
  return text;
}

Row ParameterChecksOf(std::string_view op) {
  Row checks = Row::array();
  const std::string getter = std::string(op) + "_workspace";
  for (const testing::Entry& entry : testing::AllEntries()) {
    if (entry.name() != op && entry.name() != getter) continue;
    for (const testing::BrokenRule& rule : testing::BrokenRulesOf(entry)) {
      testing::TableCall call(entry);
      rule.apply(call);
      const testing::Outcome outcome = call.Run();
      const std::string error = ErrorOf(rule, call, outcome);
      checks.push_back({{"entry", entry.name()},
                        {"group", rule.group},
                        {"rule", rule.rule},
                        {"expected", mluOpGetErrorString(rule.status)},
                        {"status", mluOpGetErrorString(outcome.status)},
                        {"message", outcome.message},
                        {"passed", error.empty()},
                        {"error", error}});
    }
  }
  return checks;
}

}  // namespace mluop::tool
