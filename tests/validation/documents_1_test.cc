// SPDX-License-Identifier: Apache-2.0
// The check list and the negative cases of document 001, written out by hand: a wrong table does
// not pass here.
#include "tests/validation/document_expect.h"

namespace mluop::testing {
namespace {

TEST(Document001, NetworkShapesAreValidInFloatAndHalf) {
  for (const mluOpDataType_t type : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    BorderAlignForward call;
    call.pool_size = 10;
    call.input = Nhwc({2, 7, 10, 1024}, type);
    call.boxes = Array({2, 70, 4}, type);
    call.output = Nhwc({2, 70, 4, 256}, type);
    call.argmax_idx = Nhwc({2, 70, 4, 256}, kInt32);
    ExpectValid(call.Call());
  }
}

TEST(Document001, NumberOfBoxesNeedNotBeThatOfPixels) {
  BorderAlignForward call;
  call.boxes = Array({3, 101, 4});
  call.output = Nhwc({3, 101, 4, 1});
  call.argmax_idx = Nhwc({3, 101, 4, 1}, kInt32);
  ExpectValid(call.Call());
}

// 3.7: the reverse cases, and those random ones that break the document's own rules.
TEST(Document001, RefusesItsReverseCases) {
  using C = BorderAlignForward;
  ExpectEachBad<C>({
      {"input",
       [](C& c) {
         c.input = Nhwc({3, 1, 2, 1, 256});
       }},
      {"boxes",
       [](C& c) {
         c.boxes = Array({3, 4});
       }},
      {"boxes.shape[2]",
       [](C& c) {
         c.boxes = Array({3, 5, 3});
       }},
      {"input.shape[3]",
       [](C& c) {
         c.input = Nhwc({3, 8, 10, 410});
       }},
      {"boxes.shape[0]",
       [](C& c) {
         c.input = Nhwc({10, 8, 100, 8});
         c.boxes = Array({3, 800, 4});
         c.output = Nhwc({10, 800, 4, 2});
         c.argmax_idx = Nhwc({10, 800, 4, 2}, kInt32);
       }},
      {"input",  // no elements, and too few channels
       [](C& c) {
         c.input = Nhwc({3, 1, 0, 1});
         c.boxes = Array({13, 5, 3});
       }},
  });
}

TEST(Document001, RefusesEachNull) {
  ExpectEachNullBad<BorderAlignForward>({"handle", "input_desc", "input", "boxes_desc", "boxes",
                                         "output_desc", "output", "argmax_idx_desc", "argmax_idx"});
  ExpectEachNullBad<BorderAlignBackward>({"handle", "grad_output_desc", "grad_output", "boxes_desc",
                                          "boxes", "argmax_idx_desc", "argmax_idx",
                                          "grad_input_desc", "grad_input"});
}

TEST(Document001, RefusesEachBrokenParameter) {
  using C = BorderAlignForward;
  ExpectEachBad<C>({
      {"pool_size", [](C& c) { c.pool_size = 0; }},
      {"pool_size", [](C& c) { c.pool_size = INT32_MIN; }},
      {"input.dtype",
       [](C& c) {
         c.input = Nhwc({3, 10, 10, 4}, kInt32);
       }},
      {"boxes.dtype",
       [](C& c) {
         c.boxes = Array({3, 5, 4}, kHalf);
       }},
      {"output.dtype",
       [](C& c) {
         c.output = Nhwc({3, 5, 4, 1}, kHalf);
       }},
      {"argmax_idx.dtype",
       [](C& c) {
         c.argmax_idx = Nhwc({3, 5, 4, 1});
       }},
      {"input.layout",
       [](C& c) {
         c.input = Nchw({3, 10, 10, 4});
       }},
      {"output.layout",
       [](C& c) {
         c.output = Nchw({3, 5, 4, 1});
       }},
      {"argmax_idx.layout",
       [](C& c) {
         c.argmax_idx = Array({3, 5, 4, 1}, kInt32);
       }},
      {"output.shape[1]",
       [](C& c) {
         c.output = Nhwc({3, 6, 4, 1});
       }},
      {"output.shape[2]",
       [](C& c) {
         c.output = Nhwc({3, 5, 5, 1});
       }},
      {"argmax_idx.shape[3]",
       [](C& c) {
         c.argmax_idx = Nhwc({3, 5, 4, 2}, kInt32);
       }},
  });
}

TEST(Document001, BackwardRefusesEachBrokenParameter) {
  using C = BorderAlignBackward;
  ExpectEachBad<C>({
      {"pool_size", [](C& c) { c.pool_size = 0; }},
      {"grad_output.dtype",
       [](C& c) {
         c.grad_output = Nhwc({3, 5, 4, 1}, kInt32);
       }},
      {"grad_input.dtype",
       [](C& c) {
         c.grad_input = Nhwc({3, 10, 10, 4}, kHalf);
       }},
      {"grad_input.layout",
       [](C& c) {
         c.grad_input = Nchw({3, 10, 10, 4});
       }},
      {"grad_input.shape[3]",
       [](C& c) {
         c.grad_input = Nhwc({3, 10, 10, 8});
       }},
      {"argmax_idx.shape[1]",
       [](C& c) {
         c.argmax_idx = Nhwc({3, 6, 4, 1}, kInt32);
       }},
  });
}

}  // namespace
}  // namespace mluop::testing
