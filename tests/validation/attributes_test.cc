// SPDX-License-Identifier: Apache-2.0
// Every rule on attributes that the tables state, broken one at a time; and the tensors that an
// attribute makes optional.
#include <limits>

#include "core/checks.h"
#include "core/error.h"
#include "tests/validation/table_call.h"

namespace mluop::testing {
namespace {

bool IsSize(const AttributeSpec& row) {
  return row.kind == AttributeSpec::kInteger && row.max == INT32_MAX && row.min > INT32_MIN;
}

// No operator has a longer range than two values today.
constexpr OpSpec kRanges("ranges", kFloat, {OneOf("two", 3, 4), OneOf("more", 0, 3)},
                         {{"x", kIn, kT, kAnyLayout, "N", kSkip}});

TEST(RangeOfAnAttribute, IsWrittenAsTwoValuesOrAsAnInterval) {
  Arguments call(kRanges);
  call.attributes[0] = 5;
  EXPECT_EQ(CheckAttributes(call), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(LastErrorMessage(), "ranges: two must be 3 or 4, got 5");
  call.attributes[0] = 3;
  call.attributes[1] = -1;
  EXPECT_EQ(CheckAttributes(call), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(LastErrorMessage(), "ranges: more must be in [0, 3], got -1");
}

class EveryAttribute : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(
    All, EveryAttribute,
    ::testing::ValuesIn(Filter(AllEntries(), [](auto& e) { return e.spec->attribute_count > 0; })),
    EntryName);

TEST_P(EveryAttribute, IsRefusedOutsideItsRange) {
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
      ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {row.name});
    }
  }
}

TEST_P(EveryAttribute, IsTakenAtTheEndsOfItsRange) {
  for (int i = 0; i < spec().attribute_count; ++i) {
    const AttributeSpec& row = spec().attributes[i];
    SCOPED_TRACE(row.name);
    TableCall call(entry());
    if (IsSize(row)) {  // the shapes go with it
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

// The names of the tensors whose shape depends on the attribute, and of the attributes that must
// equal it.
Names WhatDependsOn(const OpSpec& spec, int attribute) {
  Names names;
  for (int t = 0; t < spec.tensor_count; ++t) {
    if (Mentions(spec.tensors[t], {Factor::kAttribute, attribute})) {
      names.push_back(spec.tensors[t].name);
    }
  }
  for (int i = 0; i < spec.relation_count; ++i) {
    const Relation& relation = spec.relations[i];
    const std::string_view name = spec.attributes[attribute].name;
    if (relation.first == name || relation.second == name) names.push_back(relation.first);
  }
  return names;
}

class EverySizeAttribute : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(All, EverySizeAttribute,
                         ::testing::ValuesIn(Filter(AllEntries(),
                                                    [](auto& e) {
                                                      bool any = false;
                                                      for (int i = 0; i < e.spec->attribute_count;
                                                           ++i) {
                                                        any = any ||
                                                              !WhatDependsOn(*e.spec, i).empty();
                                                      }
                                                      return any;
                                                    })),
                         EntryName);

TEST_P(EverySizeAttribute, MustAgreeWithTheShapes) {
  for (int i = 0; i < spec().attribute_count; ++i) {
    const Names names = WhatDependsOn(spec(), i);
    if (names.empty()) continue;
    SCOPED_TRACE(spec().attributes[i].name);
    for (const double change : {-1.0, 1.0, 1e9}) {
      TableCall call(entry());
      call.attribute(i) += change;
      ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, names);
    }
  }
}

class EveryRelation : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(
    All, EveryRelation,
    ::testing::ValuesIn(Filter(AllEntries(), [](auto& e) { return e.spec->relation_count > 0; })),
    EntryName);

// The tensors keep the shapes that the other attributes give them, so that only the relation is
// broken.
TEST_P(EveryRelation, IsNamedWithBothAttributesWhenBroken) {
  for (int i = 0; i < spec().relation_count; ++i) {
    const Relation& relation = spec().relations[i];
    SCOPED_TRACE(relation.first);
    TableCall call(entry());
    call.attribute(spec().AttributeIndex(relation.first)) += 1;
    ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {relation.first});
    const std::string sentence = call.Run().sentence;
    EXPECT_NE(sentence.find(std::string(relation.first) + " must be " +
                            std::string(relation.second) + " = "),
              std::string::npos)
        << sentence;
  }
}

int OptionalTensor(const OpSpec& spec) {
  for (int t = 0; t < spec.tensor_count; ++t) {
    if (spec.tensors[t].optional_attribute >= 0) return t;
  }
  return -1;
}

class OptionalTensorTest : public EntryTest {
 protected:
  // Now the tensor may be absent.
  void Allow(TableCall* call) {
    const TensorSpec& row = spec().tensors[OptionalTensor(spec())];
    call->attribute(row.optional_attribute) = static_cast<double>(row.optional_value);
  }
  int t() const { return OptionalTensor(spec()); }
};
INSTANTIATE_TEST_SUITE_P(
    All, OptionalTensorTest,
    ::testing::ValuesIn(Filter(AllEntries(), [](auto& e) { return OptionalTensor(*e.spec) >= 0; })),
    EntryName);

TEST_P(OptionalTensorTest, MayBeAbsentWhereTheAttributeAllowsIt) {
  TableCall call(entry());
  Allow(&call);
  call.Remove(t());
  ExpectAccepted(call, entry());
}

TEST_P(OptionalTensorTest, MayBePresentWhereTheAttributeAllowsAbsence) {
  TableCall call(entry());
  Allow(&call);
  ExpectAccepted(call, entry());
}

TEST_P(OptionalTensorTest, IsNeededOtherwise) {
  TableCall call(entry());
  call.Remove(t());
  ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {call.row(t()).name});
}

TEST_P(OptionalTensorTest, IsRefusedAsAPointerWithoutADescriptor) {
  TableCall call(entry());
  Allow(&call);
  call.tensor(t()).desc = nullptr;
  ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {call.row(t()).name});
}

TEST_P(OptionalTensorTest, IsRefusedAsADescriptorWithoutAPointer) {
  TableCall call(entry());
  Allow(&call);
  call.tensor(t()).data = nullptr;
  ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {call.row(t()).name});
}

TEST_P(OptionalTensorTest, IsCheckedWherePresent) {
  TableCall call(entry());
  Allow(&call);
  call.desc(t()).dtype = MLUOP_DTYPE_FLOAT;
  ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {call.row(t()).name});
}

// An attribute out of range allows nothing: the missing descriptor comes first.
TEST_P(OptionalTensorTest, IsNeededWhereTheAttributeHasNoMeaning) {
  TableCall call(entry());
  call.attribute(call.row(t()).optional_attribute) = 7;
  call.Remove(t());
  ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {call.row(t()).name});
}

}  // namespace
}  // namespace mluop::testing
