// SPDX-License-Identifier: Apache-2.0
// Breaks every rule that the tables state for attributes, one at a time, and tests the tensors that
// an attribute makes optional.
#include <limits>

#include "core/checks.h"
#include "mluops/extensions.h"
#include "tests/validation/table_call.h"

namespace mluop::testing {
namespace {

bool IsSize(const AttributeSpec& row) {
  return row.kind == AttributeSpec::kInteger && row.max == INT32_MAX && row.min > INT32_MIN;
}

// No operator has an attribute with more than two values, so this table states one.
constexpr OpSpec kRanges("ranges", kFloat, {InRange("two", 3, 4), InRange("more", 0, 3)},
                         {{"x", kIn, kT, kAnyLayout, "N", kSkip}});

TEST(CheckAttributes, MessageNamesTwoValuesOrAnInterval) {
  Arguments call(kRanges);
  call.attributes[0] = 5;
  EXPECT_EQ(CheckAttributes(call), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(mluOpGetLastErrorMessage(), "ranges: two must be 3 or 4, got 5");
  call.attributes[0] = 3;
  call.attributes[1] = -1;
  EXPECT_EQ(CheckAttributes(call), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(mluOpGetLastErrorMessage(), "ranges: more must be in [0, 3], got -1");
}

class GeneratedAttributes : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(
    All, GeneratedAttributes,
    ::testing::ValuesIn(Filter(AllEntries(), [](auto& e) { return e.spec->attribute_count > 0; })),
    EntryName);

TEST_P(GeneratedAttributes, ValueOutOfRangeReturnsBadParam) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (int i = 0; i < spec().attribute_count; ++i) {
    const AttributeSpec& row = spec().attributes[i];
    SCOPED_TRACE(row.name);
    std::vector<double> wrong;
    if (row.kind == AttributeSpec::kPositiveReal) {
      wrong = {0.0, -0.0, -0.25, nan, infinity, -infinity};
    } else {
      const auto min = static_cast<double>(row.min);
      const auto max = static_cast<double>(row.max);
      if (row.min > INT32_MIN) wrong.insert(wrong.end(), {min - 1, double{INT32_MIN}});
      if (row.max < INT32_MAX) wrong.insert(wrong.end(), {max + 1, double{INT32_MAX}});
    }
    for (const double value : wrong) {
      SCOPED_TRACE(value);
      TableCall call(entry());
      call.attribute(i) = value;
      const bool is_integer = row.kind == AttributeSpec::kInteger;
      ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(row.name)},
                     is_integer ? std::to_string(static_cast<int64_t>(value)) : "");
    }
  }
}

TEST_P(GeneratedAttributes, EndsOfTheRangeSucceed) {
  for (int i = 0; i < spec().attribute_count; ++i) {
    const AttributeSpec& row = spec().attributes[i];
    SCOPED_TRACE(row.name);
    TableCall call(entry());
    if (IsSize(row)) {  // Set() adapts the shapes
      call.Set({Factor::kAttribute, i}, 1);
      ExpectAccepted(call, entry());
      continue;
    }
    std::vector<double> ends = {static_cast<double>(row.min), static_cast<double>(row.max)};
    if (row.kind == AttributeSpec::kPositiveReal) ends = {0x1p-149, 0x1.fffffep127};
    for (const double value : ends) {
      SCOPED_TRACE(value);
      call.attribute(i) = value;
      ExpectAccepted(call, entry());
    }
  }
}

TEST_P(GeneratedAttributes, ValueAboveTheSupportedOneReturnsNotSupported) {
  for (int i = 0; i < spec().attribute_count; ++i) {
    const AttributeSpec& row = spec().attributes[i];
    if (row.kind != AttributeSpec::kInteger || row.supported >= row.max) continue;
    SCOPED_TRACE(row.name);
    for (const int64_t value : {row.supported + 1, row.max}) {
      TableCall call(entry());
      call.attribute(i) = static_cast<double>(value);
      ExpectRejected(call, MLUOP_STATUS_NOT_SUPPORTED, {std::string(row.name)},
                     std::to_string(value));
    }
    TableCall call(entry());
    call.attribute(i) = static_cast<double>(row.supported);
    ExpectAccepted(call, entry());
  }
}

// The dims that depend on the attribute, and the attributes that must equal it.
Names DependentsOf(const OpSpec& spec, int attribute) {
  Names names;
  for (int t = 0; t < spec.tensor_count; ++t) {
    for (int d = 0; d < spec.tensors[t].rank; ++d) {
      const bool depends = DependsOn(spec.tensors[t].dims[d], {Factor::kAttribute, attribute});
      if (depends) names.push_back(Shape(spec.tensors[t], d));
    }
  }
  for (int i = 0; i < spec.relation_count; ++i) {
    const Relation& relation = spec.relations[i];
    const std::string_view name = spec.attributes[attribute].name;
    if (relation.first == name || relation.second == name) names.emplace_back(relation.first);
  }
  return names;
}

class GeneratedSizeAttributes : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(All, GeneratedSizeAttributes,
                         ::testing::ValuesIn(Filter(AllEntries(),
                                                    [](auto& e) {
                                                      bool any = false;
                                                      for (int i = 0; i < e.spec->attribute_count;
                                                           ++i) {
                                                        any = any ||
                                                              !DependentsOf(*e.spec, i).empty();
                                                      }
                                                      return any;
                                                    })),
                         EntryName);

TEST_P(GeneratedSizeAttributes, ValueThatDisagreesWithTheShapesReturnsBadParam) {
  for (int i = 0; i < spec().attribute_count; ++i) {
    const Names names = DependentsOf(spec(), i);
    if (names.empty()) continue;
    SCOPED_TRACE(spec().attributes[i].name);
    for (const double change : {-1.0, 1.0, 1e9}) {
      TableCall call(entry());
      call.attribute(i) += change;
      ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, names);
    }
  }
}

class GeneratedRelations : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(
    All, GeneratedRelations,
    ::testing::ValuesIn(Filter(AllEntries(), [](auto& e) { return e.spec->relation_count > 0; })),
    EntryName);

// The tensors keep their shapes, so only the relation is broken.
TEST_P(GeneratedRelations, UnequalAttributesReturnBadParamAndNameBoth) {
  for (int i = 0; i < spec().relation_count; ++i) {
    const Relation& relation = spec().relations[i];
    SCOPED_TRACE(relation.first);
    TableCall call(entry());
    call.attribute(spec().AttributeIndex(relation.first)) += 1;
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(relation.first)});
    const std::string message = call.Run().message;
    EXPECT_NE(message.find(std::string(relation.first) + " must be " +
                           std::string(relation.second) + " = "),
              std::string::npos)
        << message;
  }
}

int OptionalTensor(const OpSpec& spec) {
  for (int t = 0; t < spec.tensor_count; ++t) {
    if (spec.tensors[t].optional_attribute >= 0) return t;
  }
  return -1;
}

class GeneratedOptionalTensors : public EntryTest {
 protected:
  // Sets the attribute to the value that makes the tensor optional.
  void Allow(TableCall* call) {
    const TensorSpec& row = spec().tensors[OptionalTensor(spec())];
    call->attribute(row.optional_attribute) = static_cast<double>(row.optional.value);
  }
  int t() const { return OptionalTensor(spec()); }
  // The call succeeds and does not write the tensor. Nothing checks the descriptor.
  void ExpectOmitted(TableCall* call) {
    call->desc(t()).dtype = MLUOP_DTYPE_INVALID;
    EXPECT_EQ(call->Run().status, MLUOP_STATUS_SUCCESS);
    call->Remove(t());
    EXPECT_TRUE(call->WroteOutputs());
  }
};
INSTANTIATE_TEST_SUITE_P(
    All, GeneratedOptionalTensors,
    ::testing::ValuesIn(Filter(AllEntries(), [](auto& e) { return OptionalTensor(*e.spec) >= 0; })),
    EntryName);

TEST_P(GeneratedOptionalTensors, AbsentTensorSucceeds) {
  TableCall call(entry());
  Allow(&call);
  call.Remove(t());
  ExpectAccepted(call, entry());
}

TEST_P(GeneratedOptionalTensors, PresentTensorSucceeds) {
  TableCall call(entry());
  Allow(&call);
  ExpectAccepted(call, entry());
}

TEST_P(GeneratedOptionalTensors, AbsentTensorReturnsBadParamIfRequired) {
  TableCall call(entry());
  call.Remove(t());
  ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t()).name) + "_desc"});
}

TEST_P(GeneratedOptionalTensors, PointerWithoutDescriptorFollowsTheTable) {
  TableCall call(entry());
  Allow(&call);
  call.tensor(t()).desc = nullptr;
  if (call.row(t()).optional.one_null_suffices) return ExpectOmitted(&call);
  ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t()).name)});
}

TEST_P(GeneratedOptionalTensors, DescriptorWithoutPointerFollowsTheTable) {
  TableCall call(entry());
  Allow(&call);
  call.tensor(t()).data = nullptr;
  if (call.row(t()).optional.one_null_suffices) return ExpectOmitted(&call);
  ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t()).name)});
}

TEST_P(GeneratedOptionalTensors, PresentTensorIsChecked) {
  TableCall call(entry());
  Allow(&call);
  call.desc(t()).dtype = MLUOP_DTYPE_FLOAT;
  ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t()).name) + ".dtype"});
}

// Descriptors are checked before attributes, so the missing descriptor is reported.
TEST_P(GeneratedOptionalTensors, AbsentTensorReturnsBadParamIfTheAttributeIsOutOfRange) {
  TableCall call(entry());
  call.attribute(call.row(t()).optional_attribute) = 7;
  call.Remove(t());
  ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t()).name) + "_desc"});
}

}  // namespace
}  // namespace mluop::testing
