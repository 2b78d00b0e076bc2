// SPDX-License-Identifier: Apache-2.0
// Every tensor of every public function against the shapes, types, layouts and directions that
// document_calls.h writes out by hand: a wrong row of a table does not pass here.
#include "tests/validation/document_expect.h"

namespace mluop::testing {
namespace {

// The getters take some of their operators' tensors, and attributes of their own.
struct PsRoiPoolGetter : PsRoiPoolForward {
  std::vector<Row> Rows() {
    return {{"input", &input, Layout::kNhwc, "012"}, {"rois", &rois, Layout::kAny, "0"}};
  }
  mluOpStatus_t Call() { return CallGetter(); }
};
struct RoiawareGetter : RoiawareForward {
  std::vector<Row> Rows() {
    return {{"rois", &rois, Layout::kAny, "0"},
            {"pts", &pts, Layout::kAny},
            {"pts_feature", &pts_feature, Layout::kAny, "1"}};
  }
  mluOpStatus_t Call() { return CallGetter(); }
};
struct MaskedIm2colGetter : MaskedIm2colForward {
  mluOpStatus_t Call() { return CallGetter(); }
};
struct MaskedCol2imGetter : MaskedCol2im {
  mluOpStatus_t Call() { return CallGetter(); }
};

using Operators =
    ::testing::Types<PsRoiPoolForward, PsRoiPoolBackward, BorderAlignForward, BorderAlignBackward,
                     RoiawareForward, RoiawareBackward, PsamaskForward, PsamaskBackward,
                     MaskedIm2colForward, MaskedIm2colBackward, MaskedCol2im>;
using Getters =
    ::testing::Types<PsRoiPoolGetter, RoiawareGetter, MaskedIm2colGetter, MaskedCol2imGetter>;

// Calls test(call, row) on a fresh call for each of its rows.
template <typename Call, typename Test>
void ForEachRow(Test test) {
  const size_t count = Call().Rows().size();
  for (size_t i = 0; i < count; ++i) {
    Call call;
    const Row row = call.Rows()[i];
    SCOPED_TRACE(row.name);
    test(call, row);
  }
}

void ExpectAnyBad(mluOpStatus_t status) {
  EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM) << LastMessage();
}

template <typename Call>
void CheckDims() {
  ForEachRow<Call>([](Call& call, const Row& row) {
    const std::vector<int64_t> dims = row.tensor->dims();
    for (size_t d = 0; d < dims.size(); ++d) {
      for (const int64_t change : {-1, 1}) {
        SCOPED_TRACE(d);
        std::vector<int64_t> other = dims;
        other[d] += change;
        *row.tensor = Tensor(row.tensor->layout(), row.tensor->dtype(), other);
        if (row.free_dims.find(std::to_string(d)) != std::string::npos) {
          ExpectValid(call.Call());
        } else {
          ExpectAnyBad(call.Call());
        }
      }
    }
  });
}

template <typename Call>
void CheckTypes() {
  ForEachRow<Call>([](Call& call, const Row& row) {
    const mluOpDataType_t right = row.tensor->dtype();
    const mluOpTensorLayout_t layout = row.tensor->layout();
    for (int type = MLUOP_DTYPE_INVALID; type <= MLUOP_DTYPE_BFLOAT16; ++type) {
      if (type == right || type == 10) continue;  // 10 is no enumerator
      *row.tensor = Tensor(layout, static_cast<mluOpDataType_t>(type), row.tensor->dims());
      ExpectAnyBad(call.Call());
    }
  });
}

template <typename Call>
void CheckHalf() {
  Call call;
  for (const Row& row : call.Rows()) {
    if (row.tensor->dtype() != MLUOP_DTYPE_FLOAT) continue;
    *row.tensor = Tensor(row.tensor->layout(), MLUOP_DTYPE_HALF, row.tensor->dims());
  }
  if (Call::kTakesHalf) {
    ExpectValid(call.Call());
  } else {
    ExpectAnyBad(call.Call());
  }
}

template <typename Call>
void CheckLayouts() {
  ForEachRow<Call>([](Call& call, const Row& row) {
    for (int value = MLUOP_LAYOUT_NCHW; value <= MLUOP_LAYOUT_NCL; ++value) {
      const auto layout = static_cast<mluOpTensorLayout_t>(value);
      const bool right = row.layout == Layout::kAny ||
                         (row.layout == Layout::kNhwc && layout == MLUOP_LAYOUT_NHWC) ||
                         (row.layout == Layout::kNchw && layout == MLUOP_LAYOUT_NCHW);
      *row.tensor = Tensor(layout, row.tensor->dtype(), row.tensor->dims());
      if (right) {
        ExpectValid(call.Call());
      } else {
        ExpectAnyBad(call.Call());
      }
    }
  });
}

template <typename Call>
void CheckRanks() {
  ForEachRow<Call>([](Call& call, const Row& row) {
    std::vector<int64_t> dims = row.tensor->dims();
    dims.push_back(1);
    *row.tensor = Tensor(row.tensor->layout(), row.tensor->dtype(), dims);
    ExpectAnyBad(call.Call());
  });
}

template <typename Call>
void CheckStrides() {
  ForEachRow<Call>([](Call& call, const Row& row) {
    const std::vector<int64_t> dims = row.tensor->dims();
    std::vector<int64_t> strides(dims.size(), 1);
    for (size_t d = dims.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * dims[d];
    for (int64_t& stride : strides) stride *= 2;  // every second element
    ASSERT_EQ(
        mluOpSetTensorDescriptorEx_v2(*row.tensor, row.tensor->layout(), row.tensor->dtype(),
                                      static_cast<int>(dims.size()), dims.data(), strides.data()),
        MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(call.Call(), MLUOP_STATUS_NOT_SUPPORTED);
    EXPECT_TRUE(LastMessageHas(std::string(": ") + row.name + ".stride[")) << LastMessage();
  });
}

template <typename Call>
class OperatorByHand : public ::testing::Test {};
TYPED_TEST_SUITE(OperatorByHand, Operators);

TYPED_TEST(OperatorByHand, IsValid) {
  TypeParam call;
  ExpectValid(call.Call());
}
TYPED_TEST(OperatorByHand, RefusesDimsThatAreOffByOne) { CheckDims<TypeParam>(); }
TYPED_TEST(OperatorByHand, RefusesForeignTypes) { CheckTypes<TypeParam>(); }
TYPED_TEST(OperatorByHand, TakesOrRefusesHalf) { CheckHalf<TypeParam>(); }
TYPED_TEST(OperatorByHand, TakesOrRefusesLayouts) { CheckLayouts<TypeParam>(); }
TYPED_TEST(OperatorByHand, RefusesADimTooMany) { CheckRanks<TypeParam>(); }
TYPED_TEST(OperatorByHand, DoesNotSupportStrides) { CheckStrides<TypeParam>(); }

TYPED_TEST(OperatorByHand, RefusesPointersBetweenElements) {
  const size_t count = TypeParam().Rows().size();
  for (size_t i = 0; i < count; ++i) {
    TypeParam call;
    const Row row = call.Rows()[i];
    SCOPED_TRACE(row.name);
    call.data[row.name] = static_cast<char*>(row.tensor->data()) + 1;
    ExpectAnyBad(call.Call());
    EXPECT_TRUE(LastMessageHas("must be aligned to its elements")) << LastMessage();
  }
}

TYPED_TEST(OperatorByHand, RefusesOutputsThatShareMemoryAndNothingElse) {
  const size_t count = TypeParam().Rows().size();
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = i + 1; j < count; ++j) {
      TypeParam call;
      const Row first = call.Rows()[i];
      const Row second = call.Rows()[j];
      SCOPED_TRACE(std::string(first.name) + " and " + second.name);
      const bool first_is_larger = first.tensor->bytes() >= second.tensor->bytes();
      const Row& owner = first_is_larger ? first : second;
      call.data[first_is_larger ? second.name : first.name] = owner.tensor->data();
      if (!first.is_output && !second.is_output) {
        ExpectValid(call.Call());
        continue;
      }
      ExpectAnyBad(call.Call());
      EXPECT_TRUE(LastMessageHas("overlaps")) << LastMessage();
    }
  }
}

template <typename Call>
class GetterByHand : public ::testing::Test {};
TYPED_TEST_SUITE(GetterByHand, Getters);

TYPED_TEST(GetterByHand, RefusesDimsThatAreOffByOne) { CheckDims<TypeParam>(); }
TYPED_TEST(GetterByHand, RefusesForeignTypes) { CheckTypes<TypeParam>(); }
TYPED_TEST(GetterByHand, TakesOrRefusesHalf) { CheckHalf<TypeParam>(); }
TYPED_TEST(GetterByHand, TakesOrRefusesLayouts) { CheckLayouts<TypeParam>(); }
TYPED_TEST(GetterByHand, RefusesADimTooMany) { CheckRanks<TypeParam>(); }
TYPED_TEST(GetterByHand, DoesNotSupportStrides) { CheckStrides<TypeParam>(); }

TYPED_TEST(GetterByHand, RefusesEachNull) {
  ForEachRow<TypeParam>([](TypeParam& call, const Row& row) {
    call.null = {std::string(row.name) + "_desc"};
    ExpectBad(call.Call(), std::string(row.name) + "_desc");
  });
  ExpectEachNullBad<TypeParam>({"handle", "workspace_size"});
}

TEST(GetterAttributesByHand, AreRefusedOutOfRange) {
  using P = PsRoiPoolGetter;
  using M = MaskedIm2colGetter;
  ExpectEachBad<P>({{"pooled_height", [](P& c) { c.pooled_height = 0; }},
                    {"pooled_width", [](P& c) { c.pooled_width = 0; }},
                    {"pooled_width", [](P& c) { c.pooled_width = 2; }},
                    {"output_dim", [](P& c) { c.output_dim = 0; }}});
  ExpectEachBad<M>(
      {{"kernel_h", [](M& c) { c.kernel_h = 0; }}, {"kernel_w", [](M& c) { c.kernel_w = 0; }}});
}

}  // namespace
}  // namespace mluop::testing
