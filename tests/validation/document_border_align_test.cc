// SPDX-License-Identifier: Apache-2.0
// The rules of document 001 (border_align) and of the contract for a call.
#include "tests/validation/documented_call.h"

namespace mluop::testing {
namespace {

// Document 001 3.7, the first random case.
struct BorderAlignForward : DocumentedCall {
  int32_t pool_size = 8;
  Tensor input = Nhwc({3, 10, 10, 4}), boxes = Array({3, 5, 4}), output = Nhwc({3, 5, 4, 1}),
         argmax_idx = Nhwc({3, 5, 4, 1}, kInt32);
  std::vector<TensorRule> Tensors() override {
    return {{"input", &input, Layout::kNhwc, "12"},
            {"boxes", &boxes, Layout::kAny},
            {"output", &output, Layout::kNhwc, "", true},
            {"argmax_idx", &argmax_idx, Layout::kNhwc, "", true}};
  }
  std::vector<AttributeRule> Attributes() override {
    return {FreeInteger("pool_size", &pool_size, 1)};
  }
  mluOpStatus_t Call() override {
    return mluOpBorderAlignForward(
        HandleArgument(), DescArgument("input", input), DataArgument("input", input),
        DescArgument("boxes", boxes), DataArgument("boxes", boxes), pool_size,
        DescArgument("output", output), DataArgument("output", output),
        DescArgument("argmax_idx", argmax_idx), DataArgument("argmax_idx", argmax_idx));
  }
};

struct BorderAlignBackward : DocumentedCall {
  int32_t pool_size = 8;
  Tensor grad_output = Nhwc({3, 5, 4, 1}), boxes = Array({3, 5, 4}),
         argmax_idx = Nhwc({3, 5, 4, 1}, kInt32), grad_input = Nhwc({3, 10, 10, 4});
  std::vector<TensorRule> Tensors() override {
    return {{"grad_output", &grad_output, Layout::kNhwc},
            {"boxes", &boxes, Layout::kAny},
            {"argmax_idx", &argmax_idx, Layout::kNhwc},
            {"grad_input", &grad_input, Layout::kNhwc, "12", true}};
  }
  std::vector<AttributeRule> Attributes() override {
    return {FreeInteger("pool_size", &pool_size, 1)};
  }
  mluOpStatus_t Call() override {
    return mluOpBorderAlignBackward(
        HandleArgument(), DescArgument("grad_output", grad_output),
        DataArgument("grad_output", grad_output), DescArgument("boxes", boxes),
        DataArgument("boxes", boxes), DescArgument("argmax_idx", argmax_idx),
        DataArgument("argmax_idx", argmax_idx), pool_size, DescArgument("grad_input", grad_input),
        DataArgument("grad_input", grad_input));
  }
};

INSTANTIATE_TEST_SUITE_P(Document001, DocumentedFunction,
                         ::testing::Values(Function<BorderAlignForward>("border_align_forward"),
                                           Function<BorderAlignBackward>("border_align_backward")),
                         FunctionName);

TEST(Document001, NetworkShapesSucceedInFloatAndHalf) {
  for (const mluOpDataType_t type : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    BorderAlignForward call;
    call.pool_size = 10;
    call.input = Nhwc({2, 7, 10, 1024}, type);
    call.boxes = Array({2, 70, 4}, type);
    call.output = Nhwc({2, 70, 4, 256}, type);
    call.argmax_idx = Nhwc({2, 70, 4, 256}, kInt32);
    ExpectSuccess(call.Call());
  }
}

TEST(Document001, NumberOfBoxesIsIndependentOfTheMap) {
  BorderAlignForward call;
  call.boxes = Array({3, 101, 4});
  call.output = Nhwc({3, 101, 4, 1});
  call.argmax_idx = Nhwc({3, 101, 4, 1}, kInt32);
  ExpectSuccess(call.Call());
}

// Section 3.7: the negative cases, and the random cases that break the document's own rules.
TEST(Document001, NegativeCasesReturnBadParam) {
  ExpectBadDims<BorderAlignForward>({{"input", {3, 1, 2, 1, 256}, "input"},
                                     {"boxes", {3, 4}, "boxes"},
                                     {"boxes", {3, 5, 3}, "boxes.shape[2]"},
                                     {"input", {3, 8, 10, 410}, "input.shape[3]"}});
  BorderAlignForward two_batches;
  two_batches.input = Nhwc({10, 8, 100, 8});
  two_batches.boxes = Array({3, 800, 4});
  two_batches.output = Nhwc({10, 800, 4, 2});
  two_batches.argmax_idx = Nhwc({10, 800, 4, 2}, kInt32);
  ExpectBad(two_batches.Call(), "boxes.shape[0]");
  BorderAlignForward empty;  // too few channels as well
  empty.input = Nhwc({3, 1, 0, 1});
  empty.boxes = Array({13, 5, 3});
  ExpectBad(empty.Call(), "input.shape[3]");
}

TEST(Document001, MessageNamesTheWrongDim) {
  ExpectBadDims<BorderAlignForward>({{"output", {3, 6, 4, 1}, "output.shape[1]"},
                                     {"output", {3, 5, 5, 1}, "output.shape[2]"},
                                     {"argmax_idx", {3, 5, 4, 2}, "argmax_idx.shape[3]"}});
  ExpectBadDims<BorderAlignBackward>({{"grad_input", {3, 10, 10, 8}, "grad_input.shape[3]"},
                                      {"argmax_idx", {3, 6, 4, 1}, "argmax_idx.shape[1]"}});
}

// The work is proportional to pool_size, which no shape bounds.
template <typename Call>
void ExpectPoolSizeLimit(const std::string& op) {
  Call call;
  call.pool_size = 65536;
  ExpectSuccess(call.Call());
  for (const int pool_size : {65537, INT32_MAX}) {
    call.pool_size = pool_size;
    EXPECT_EQ(call.Call(), MLUOP_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(LastMessage(),
              op + ": pool_size must be at most 65536, got " + std::to_string(pool_size));
  }
}

TEST(Document001, PoolSizeAbove65536ReturnsNotSupported) {
  ExpectPoolSizeLimit<BorderAlignForward>("border_align_forward");
  ExpectPoolSizeLimit<BorderAlignBackward>("border_align_backward");
}

TEST(Document001, EmptyTensorReturnsBadParam) {
  BorderAlignForward no_rows;
  no_rows.input = Nhwc({3, 0, 10, 4});
  ExpectBad(no_rows.Call(), "input");
  BorderAlignForward no_boxes;
  no_boxes.boxes = Array({3, 0, 4});
  no_boxes.output = Nhwc({3, 0, 4, 1});
  no_boxes.argmax_idx = Nhwc({3, 0, 4, 1}, kInt32);
  ExpectBad(no_boxes.Call(), "boxes");
  BorderAlignBackward no_columns;
  no_columns.grad_input = Nhwc({3, 10, 0, 4});
  ExpectBad(no_columns.Call(), "grad_input");
  BorderAlignBackward no_channels;
  no_channels.grad_output = Nhwc({3, 5, 4, 0});
  no_channels.argmax_idx = Nhwc({3, 5, 4, 0}, kInt32);
  no_channels.grad_input = Nhwc({3, 10, 10, 0});
  ExpectBad(no_channels.Call(), "grad_output");
}

}  // namespace
}  // namespace mluop::testing
