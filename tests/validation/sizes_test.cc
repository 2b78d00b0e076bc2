// SPDX-License-Identifier: Apache-2.0
// Sizes that are meant to go wrong, for every table: the last number of elements that is taken and
// the first that is not, products beyond 32 and 64 bits, strides that alias, huge dims of nothing.
#include <algorithm>

#include "tests/validation/table_call.h"

namespace mluop::testing {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;  // elements

class EverySize : public EntryTest {
 protected:
  // The tensors of at least kLimit elements. `fits` says whether all counts fit in 63 bits: what
  // does not, the setters of a descriptor refuse.
  Names TooLarge(TableCall& call, bool* fits) {
    Names names;
    *fits = true;
    for (int t = 0; t < spec().tensor_count; ++t) {
      const std::vector<int64_t> dims = call.Dims(t);
      if (std::find(dims.begin(), dims.end(), 0) != dims.end()) continue;
      int64_t count = 1;
      for (const int64_t dim : dims) *fits &= !__builtin_mul_overflow(count, dim, &count);
      if (count >= kLimit) names.push_back(call.row(t).name);
    }
    return names;
  }

  bool IsTaken(TableCall& call, const Variable& variable, int64_t value) {
    call.Set(variable, value);
    bool fits = true;
    return TooLarge(call, &fits).empty() && fits;
  }

  // The largest value at which no tensor has too many elements.
  int64_t Largest(TableCall& call, const Variable& variable) {
    int64_t taken = 1, refused = kLimit;
    while (refused - taken > 1) {
      const int64_t middle = taken + (refused - taken) / 2;
      (IsTaken(call, variable, middle) ? taken : refused) = middle;
    }
    return taken;
  }

  void MakeOnes(TableCall& call) {
    for (const Variable& variable : VariablesOf(spec())) call.Set(variable, 1);
  }

  // There is no such memory: an operator that has come to look for it has passed all checks of
  // sizes.
  void ExpectSizesTaken(TableCall& call) {
    if (entry().getter != nullptr) return ExpectAccepted(call, entry());
    for (int t = 0; t < spec().tensor_count; ++t) call.tensor(t).data = nullptr;
    const Outcome outcome = call.Run();
    EXPECT_EQ(outcome.status, MLUOP_STATUS_BAD_PARAM);
    EXPECT_NE(outcome.sentence.find("must be a data pointer, got NULL"), std::string::npos)
        << outcome.sentence;
  }
};
INSTANTIATE_TEST_SUITE_P(All, EverySize, ::testing::ValuesIn(AllEntries()), EntryName);

TEST_P(EverySize, IsTakenUpToTheLastElementBelowTwoToThe31) {
  for (const Variable& variable : VariablesOf(spec())) {
    SCOPED_TRACE(NameOf(spec(), variable));
    TableCall call(entry());
    MakeOnes(call);
    const int64_t largest = Largest(call, variable);
    ASSERT_TRUE(IsTaken(call, variable, largest));
    ExpectSizesTaken(call);
    const bool is_int = variable.kind == Factor::kAttribute;
    if (is_int && largest == INT32_MAX) continue;  // there is no larger int
    call.Set(variable, largest + 1);
    bool fits = true;
    const Names large = TooLarge(call, &fits);
    ASSERT_TRUE(fits && !large.empty());
    ExpectRefused(call, MLUOP_STATUS_NOT_SUPPORTED, large);
  }
}

// 65537 * 65537 is 131073 in 32 bits, and 65536 * 65536 is 0.
TEST_P(EverySize, IsMultipliedInMoreThan32Bits) {
  const std::vector<Variable> variables = VariablesOf(spec());
  for (const int64_t value : {65536, 65537}) {
    for (size_t i = 0; i < variables.size(); ++i) {
      for (size_t j = i + 1; j < variables.size(); ++j) {
        TableCall call(entry());
        MakeOnes(call);
        call.Set(variables[i], value);
        call.Set(variables[j], value);
        bool fits = true;
        const Names large = TooLarge(call, &fits);
        if (large.empty() || !fits) continue;  // no tensor has both, or nobody can describe it
        SCOPED_TRACE(std::string(NameOf(spec(), variables[i])) + " " +
                     std::string(NameOf(spec(), variables[j])));
        ExpectRefused(call, MLUOP_STATUS_NOT_SUPPORTED, large);
      }
    }
  }
}

// The tensors stay small: only the attributes say that they should not be.
TEST_P(EverySize, MayBeBeyond64BitsByTheAttributes) {
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
        if (Mentions(spec().tensors[t], {Factor::kAttribute, i})) {
          names.push_back(spec().tensors[t].name);
        }
      }
    }
    if (names.empty()) return;
    ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, names);
  }
}

TEST_P(EverySize, OfATensorWhoseStridesAliasIsNotSupported) {
  ForEachTensor([this](TableCall&, int t) {
    for (int d = 0; d < spec().tensors[t].rank; ++d) {
      TableCall call(entry());
      if (call.desc(t).dims[d] == 1) continue;
      const int64_t packed = call.desc(t).strides[d];
      for (const int64_t stride :
           {int64_t{0}, -packed, packed / 2, packed - 1, INT64_MIN, INT64_MAX}) {
        SCOPED_TRACE(std::to_string(d) + " " + std::to_string(stride));
        call.desc(t).strides[d] = stride;
        const std::string argument =
            std::string(call.row(t).name) + ".stride[" + std::to_string(d) + "]";
        ExpectRefused(call, MLUOP_STATUS_NOT_SUPPORTED, {argument});
      }
    }
  });
}

// An empty tensor may have other dims of any size, which no int holds.
TEST_P(EverySize, OfNothingMayBeHuge) {
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
        ExpectRefused(call, MLUOP_STATUS_NOT_SUPPORTED, large);
        continue;
      }
      const Outcome outcome = call.Run();
      EXPECT_TRUE(outcome.status == MLUOP_STATUS_SUCCESS ||
                  outcome.status == MLUOP_STATUS_BAD_PARAM)
          << outcome.sentence;
      if (outcome.status == MLUOP_STATUS_BAD_PARAM) {
        EXPECT_TRUE(call.untouched());
      }
    }
  }
}

}  // namespace
}  // namespace mluop::testing
