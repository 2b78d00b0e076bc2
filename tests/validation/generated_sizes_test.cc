// SPDX-License-Identifier: Apache-2.0
// Tests the size limits of every table: the largest valid element count and the smallest invalid
// one. Tests products beyond 32 and 64 bits, strides that alias, and huge dims of empty tensors.
#include <algorithm>

#include "tests/validation/table_call.h"

namespace mluop::testing {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;  // of a dim, and of the elements in a limited table

class GeneratedSizes : public EntryTest {
 protected:
  // The tensors and dims that are too large. In a limited table the tensors of at least kLimit
  // elements, in others the dims of at least kLimit and the tensors of 2^60 elements. Sets `fits`
  // to whether all counts fit in 63 bits: the setters of a descriptor refuse larger ones.
  Names TooLarge(TableCall& call, bool* fits) {
    Names names;
    *fits = true;
    for (int t = 0; t < spec().tensor_count; ++t) {
      const std::vector<int64_t> dims = call.Dims(t);
      if (std::find(dims.begin(), dims.end(), 0) != dims.end()) continue;
      int64_t count = 1;
      for (const int64_t dim : dims) {
        *fits &= dim < INT64_MAX && !__builtin_mul_overflow(count, dim, &count);
      }
      const int64_t most = spec().limited ? kLimit : int64_t{1} << 60;
      if (count >= most) names.emplace_back(call.row(t).name);
      for (size_t d = 0; d < dims.size(); ++d) {
        const bool large = !spec().limited && dims[d] >= kLimit;
        if (large) names.push_back(Shape(call.row(t), static_cast<int>(d)));
      }
    }
    return names;
  }

  bool FitsLimit(TableCall& call, const Variable& variable, int64_t value) {
    call.Set(variable, value);
    bool fits = true;
    return TooLarge(call, &fits).empty() && fits;
  }

  // The largest value of the variable with all tensors below the limit.
  int64_t Largest(TableCall& call, const Variable& variable) {
    int64_t valid = 1, invalid = kLimit;
    while (invalid - valid > 1) {
      const int64_t middle = valid + (invalid - valid) / 2;
      (FitsLimit(call, variable, middle) ? valid : invalid) = middle;
    }
    return valid;
  }

  void MakeOnes(TableCall& call) {
    for (const Variable& variable : VariablesOf(spec())) call.Set(variable, 1);
  }

  // The memory cannot be allocated. Passes NULL: the NULL check comes after the size check, so its
  // message means that the sizes are valid.
  void ExpectSizesAccepted(TableCall& call) {
    if (entry().getter != nullptr) return ExpectAccepted(call, entry());
    for (int t = 0; t < spec().tensor_count; ++t) call.tensor(t).data = nullptr;
    const Outcome outcome = call.Run();
    EXPECT_EQ(outcome.status, MLUOP_STATUS_BAD_PARAM);
    EXPECT_NE(outcome.message.find("must be a data pointer, got NULL"), std::string::npos)
        << outcome.message;
  }
};
INSTANTIATE_TEST_SUITE_P(All, GeneratedSizes, ::testing::ValuesIn(AllEntries()), EntryName);

TEST_P(GeneratedSizes, LimitIsTwoToThe31) {
  for (const Variable& variable : VariablesOf(spec())) {
    SCOPED_TRACE(NameOf(spec(), variable));
    TableCall call(entry());
    MakeOnes(call);
    const int64_t largest = Largest(call, variable);
    ASSERT_TRUE(FitsLimit(call, variable, largest));
    ExpectSizesAccepted(call);
    const bool is_int = variable.kind == Factor::kAttribute;
    if (is_int && largest == INT32_MAX) continue;  // no larger int exists
    call.Set(variable, largest + 1);
    bool fits = true;
    const Names large = TooLarge(call, &fits);
    ASSERT_TRUE(fits && !large.empty());
    ExpectRejected(call, MLUOP_STATUS_NOT_SUPPORTED, large);
  }
}

// In 32 bits, 65537 * 65537 is 131073 and 65536 * 65536 is 0. The bytes of 2^30 * 2^30 elements do not
// fit in 62 bits.
TEST_P(GeneratedSizes, ProductBeyond32BitsFollowsTheTable) {
  const std::vector<Variable> variables = VariablesOf(spec());
  for (const int64_t value : {65536, 65537, 1 << 30}) {
    for (size_t i = 0; i < variables.size(); ++i) {
      for (size_t j = i + 1; j < variables.size(); ++j) {
        TableCall call(entry());
        MakeOnes(call);
        call.Set(variables[i], value);
        call.Set(variables[j], value);
        bool fits = true;
        const Names large = TooLarge(call, &fits);
        if (!fits) continue;
        SCOPED_TRACE(std::string(NameOf(spec(), variables[i])) + " " +
                     std::string(NameOf(spec(), variables[j])));
        if (large.empty()) {
          ExpectSizesAccepted(call);
        } else {
          ExpectRejected(call, MLUOP_STATUS_NOT_SUPPORTED, large);
        }
      }
    }
  }
}

// The tensors stay small; only the attributes are large.
TEST_P(GeneratedSizes, AttributeProductBeyond64BitsReturnsBadParam) {
  for (const double value : {65536.0, 2097152.0, double{INT32_MAX}}) {
    TableCall call(entry());
    Names names;
    for (int i = 0; i < spec().attribute_count; ++i) {
      const AttributeSpec& row = spec().attributes[i];
      const bool size =
          row.kind == AttributeSpec::kInteger && row.max == INT32_MAX && row.min > INT32_MIN;
      if (!size) continue;
      call.attribute(i) = value;
      for (int t = 0; t < spec().tensor_count; ++t) {
        for (int d = 0; d < spec().tensors[t].rank; ++d) {
          const bool depends = DependsOn(spec().tensors[t].dims[d], {Factor::kAttribute, i});
          if (depends) names.push_back(Shape(spec().tensors[t], d));
        }
      }
    }
    if (names.empty()) return;
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, names);
  }
}

TEST_P(GeneratedSizes, AliasingStrideReturnsNotSupported) {
  ForEachTensor([this](TableCall&, int t) {
    for (int d = 0; d < spec().tensors[t].rank; ++d) {
      TableCall call(entry());
      if (call.desc(t).dims[d] == 1) continue;
      const int64_t packed = call.desc(t).strides[d];
      for (const int64_t stride :
           {int64_t{0}, -packed, packed / 2, packed - 1, INT64_MIN, INT64_MAX}) {
        SCOPED_TRACE(std::to_string(d) + " " + std::to_string(stride));
        call.desc(t).strides[d] = stride;
        ExpectRejected(call, MLUOP_STATUS_NOT_SUPPORTED, {Stride(call.row(t), d)},
                       std::to_string(stride));
      }
    }
  });
}

// The other dims of an empty tensor may exceed the range of int.
TEST_P(GeneratedSizes, HugeDimsOfEmptyTensorsAreHandled) {
  const std::vector<Variable> variables = VariablesOf(spec());
  for (const Variable& zero : variables) {
    for (const Variable& huge : variables) {
      if (zero.kind != Factor::kSymbol || huge.kind != Factor::kSymbol) continue;
      if (zero.index == huge.index) continue;
      SCOPED_TRACE(std::string(NameOf(spec(), zero)) + "=0 " + std::string(NameOf(spec(), huge)));
      TableCall call(entry());
      call.Set(zero, 0);
      call.Set(huge, (int64_t{1} << 33) + 1);
      bool fits = true;
      const Names large = TooLarge(call, &fits);
      if (!fits) continue;
      if (!large.empty()) {
        ExpectRejected(call, MLUOP_STATUS_NOT_SUPPORTED, large);
        continue;
      }
      const Outcome outcome = call.Run();
      EXPECT_TRUE(outcome.status == MLUOP_STATUS_SUCCESS ||
                  outcome.status == MLUOP_STATUS_BAD_PARAM)
          << outcome.message;
      if (outcome.status == MLUOP_STATUS_BAD_PARAM) {
        EXPECT_TRUE(call.untouched());
      }
    }
  }
}

}  // namespace
}  // namespace mluop::testing
