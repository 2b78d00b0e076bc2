// SPDX-License-Identifier: Apache-2.0
// The rules of document 003 (psamask) and of the contract for a call.
#include "tests/validation/documented_call.h"

namespace mluop::testing {
namespace {

// A 4x5 feature with a 3x7 mask.
struct PsamaskForward : DocumentedCall {
  int psa_type = 0, h_mask = 3, w_mask = 7;
  Tensor x = Nhwc({2, 4, 5, 21}), y = Nhwc({2, 4, 5, 20});
  bool takes_half() const override { return false; }
  std::vector<TensorRule> Tensors() override {
    return {{"x", &x, Layout::kNhwc}, {"y", &y, Layout::kNhwc, "", true}};
  }
  std::vector<AttributeRule> Attributes() override {
    return {FreeInteger("psa_type", &psa_type, 0, 1), FixedSize("h_mask", &h_mask),
            FixedSize("w_mask", &w_mask)};
  }
  mluOpStatus_t Call() override {
    return mluOpPsamaskForward(HandleArgument(), psa_type, DescArgument("x", x),
                               DataArgument("x", x), h_mask, w_mask, DescArgument("y", y),
                               DataArgument("y", y));
  }
};

struct PsamaskBackward : DocumentedCall {
  int psa_type = 0, h_mask = 3, w_mask = 7;
  Tensor dy = Nhwc({2, 4, 5, 20}), dx = Nhwc({2, 4, 5, 21});
  bool takes_half() const override { return false; }
  std::vector<TensorRule> Tensors() override {
    return {{"dy", &dy, Layout::kNhwc}, {"dx", &dx, Layout::kNhwc, "", true}};
  }
  std::vector<AttributeRule> Attributes() override {
    return {FreeInteger("psa_type", &psa_type, 0, 1), FixedSize("h_mask", &h_mask),
            FixedSize("w_mask", &w_mask)};
  }
  mluOpStatus_t Call() override {
    return mluOpPsamaskBackward(HandleArgument(), psa_type, DescArgument("dy", dy),
                                DataArgument("dy", dy), h_mask, w_mask, DescArgument("dx", dx),
                                DataArgument("dx", dx));
  }
};

INSTANTIATE_TEST_SUITE_P(Document003, DocumentedFunction,
                         ::testing::Values(Function<PsamaskForward>("psamask_forward"),
                                           Function<PsamaskBackward>("psamask_backward")),
                         FunctionName);

TEST(Document003, EvenMasksSucceed) {
  PsamaskForward call;
  call.h_mask = 2;
  call.w_mask = 4;
  call.x = Nhwc({2, 4, 5, 8});
  ExpectSuccess(call.Call());
}

TEST(Document003, MessageNamesTheWrongDim) {
  ExpectBadDims<PsamaskForward>({{"y", {3, 4, 5, 20}, "y.shape[0]"},
                                 {"y", {2, 5, 5, 20}, "y.shape[1]"},
                                 {"y", {2, 4, 4, 20}, "y.shape[2]"},
                                 {"x", {2, 4, 5, 20}, "x.shape[3]"},
                                 {"y", {2, 4, 5, 21}, "y.shape[3]"}});
  ExpectBadDims<PsamaskBackward>({{"dx", {2, 5, 5, 21}, "dx.shape[1]"},
                                  {"dy", {2, 4, 5, 21}, "dy.shape[3]"},
                                  {"dx", {2, 4, 5, 20}, "dx.shape[3]"}});
  ExpectBadAttributes<PsamaskForward>({{"h_mask", 4, "x.shape[3]"}});
}

TEST(Document003, EmptyFeatureSucceeds) {
  for (const std::vector<int64_t>& nhw : {std::vector<int64_t>{0, 4, 5}, {2, 0, 5}, {2, 4, 0}}) {
    PsamaskForward forward;
    forward.x = Nhwc({nhw[0], nhw[1], nhw[2], 21});
    forward.y = Nhwc({nhw[0], nhw[1], nhw[2], nhw[1] * nhw[2]});
    forward.null = {"x", "y"};
    ExpectSuccess(forward.Call());
    PsamaskBackward backward;
    backward.dy = Nhwc({nhw[0], nhw[1], nhw[2], nhw[1] * nhw[2]});
    backward.dx = Nhwc({nhw[0], nhw[1], nhw[2], 21});
    backward.null = {"dy", "dx"};
    ExpectSuccess(backward.Call());
  }
}

// H*W is 2^64, which no dim can hold.
TEST(Document003, EmptyTensorWithOverflowingShapeReturnsBadParam) {
  constexpr int64_t kLarge = int64_t{1} << 32;
  for (const int64_t wrong : {int64_t{0}, int64_t{1}, INT64_MAX}) {
    PsamaskForward call;
    call.x = Nhwc({0, kLarge, kLarge, 21});
    call.y = Nhwc({0, kLarge, kLarge, wrong});
    ExpectBad(call.Call(), "y.shape[3]");
  }
}

// The largest product that fits in 63 bits.
TEST(Document003, EmptyTensorWithLargestDimSucceeds) {
  PsamaskForward call;
  call.x = Nhwc({0, INT64_MAX, 1, call.x.dims()[3]});
  call.y = Nhwc({0, INT64_MAX, 1, INT64_MAX});
  ExpectSuccess(call.Call());
}

}  // namespace
}  // namespace mluop::testing
