// SPDX-License-Identifier: Apache-2.0
// The check lists and negative cases of documents 000 and 001, written out by hand: a wrong table
// does not pass here.
#include <cmath>

#include "document_calls.h"

namespace mluop::testing {
namespace {

TEST(Document000, BothNetworkShapesAreValid) {
  PsRoiPoolForward second;
  ExpectValid(second.Call());
  PsRoiPoolForward first;
  first.pooled_height = first.pooled_width = first.group_size = 7;
  first.output_dim = 8;
  first.spatial_scale = 1;
  first.input = Nhwc({1, 14, 14, 392});
  first.rois = Array({320, 5});
  first.output = Nhwc({320, 7, 7, 8});
  first.mapping = Nhwc({320, 7, 7, 8}, kInt32);
  ExpectValid(first.Call());
}

// Its case (2) has 198 channels where rule 13 gives 3*3*21 = 189.
TEST(Document000, CaseWith198ChannelsBreaksItsOwnRule) {
  PsRoiPoolForward call;
  call.input = Nhwc({2, 14, 14, 198});
  ExpectBad(call.Call(), "input.shape[3]");
  EXPECT_TRUE(LastMessageHas("= 189, got 198")) << LastMessage();
}

TEST(Document000, RefusesEachNull) {
  ExpectEachNullBad<PsRoiPoolForward>({"handle", "input_desc", "input", "rois_desc", "rois",
                                       "output_desc", "output", "mapping_channel_desc",
                                       "mapping_channel"});
  ExpectEachNullBad<PsRoiPoolBackward>({"handle", "top_grad_desc", "top_grad", "rois_desc", "rois",
                                        "mapping_channel_desc", "mapping_channel",
                                        "bottom_grad_desc", "bottom_grad"});
}

TEST(Document000, RefusesEachBrokenParameter) {
  using C = PsRoiPoolForward;
  ExpectEachBad<C>({
      {"group_size", [](C& c) { c.group_size = 2; }},
      {"pooled_width", [](C& c) { c.pooled_width = 2; }},
      {"pooled_height", [](C& c) { c.pooled_height = 0; }},
      {"group_size", [](C& c) { c.group_size = 0; }},
      {"output_dim", [](C& c) { c.output_dim = 0; }},
      {"spatial_scale", [](C& c) { c.spatial_scale = 0; }},
      {"spatial_scale", [](C& c) { c.spatial_scale = -1; }},
      {"spatial_scale", [](C& c) { c.spatial_scale = NAN; }},
      {"spatial_scale", [](C& c) { c.spatial_scale = INFINITY; }},
      {"input.layout",
       [](C& c) {
         c.input = Nchw({2, 14, 14, 189});
       }},
      {"output.layout",
       [](C& c) {
         c.output = Array({493, 3, 3, 21});
       }},
      {"mapping_channel.layout",
       [](C& c) {
         c.mapping = Nchw({493, 3, 3, 21}, kInt32);
       }},
      {"rois.shape[1]",
       [](C& c) {
         c.rois = Array({493, 4});
       }},
      {"input.dtype",
       [](C& c) {
         c.input = Nhwc({2, 14, 14, 189}, kHalf);
       }},
      {"rois.dtype",
       [](C& c) {
         c.rois = Array({493, 5}, kHalf);
       }},
      {"output.dtype",
       [](C& c) {
         c.output = Nhwc({493, 3, 3, 21}, kInt32);
       }},
      {"mapping_channel.dtype",
       [](C& c) {
         c.mapping = Nhwc({493, 3, 3, 21});
       }},
      {"input",
       [](C& c) {
         c.input = Nhwc({14, 14, 189});
       }},
      {"rois",
       [](C& c) {
         c.rois = Array({493, 5, 1});
       }},
      {"output",
       [](C& c) {
         c.output = Nhwc({493, 9, 21});
       }},
      {"mapping_channel",
       [](C& c) {
         c.mapping = Nhwc({493, 9, 21}, kInt32);
       }},
      {"output.shape[0]",
       [](C& c) {
         c.output = Nhwc({492, 3, 3, 21});
       }},
      {"output.shape[3]",
       [](C& c) {
         c.output = Nhwc({493, 3, 3, 20});
       }},
      {"mapping_channel.shape[1]",
       [](C& c) {
         c.mapping = Nhwc({493, 4, 3, 21}, kInt32);
       }},
  });
}

TEST(Document000, BackwardTakesNothingButFloatAndInt32) {
  using C = PsRoiPoolBackward;
  ExpectEachBad<C>({
      {"top_grad.dtype",
       [](C& c) {
         c.top_grad = Nhwc({493, 3, 3, 21}, kHalf);
       }},
      {"rois.dtype",
       [](C& c) {
         c.rois = Array({493, 5}, kHalf);
       }},
      {"mapping_channel.dtype",
       [](C& c) {
         c.mapping = Nhwc({493, 3, 3, 21});
       }},
      {"bottom_grad.dtype",
       [](C& c) {
         c.bottom_grad = Nhwc({2, 14, 14, 189}, kHalf);
       }},
      {"bottom_grad.layout",
       [](C& c) {
         c.bottom_grad = Nchw({2, 14, 14, 189});
       }},
      {"bottom_grad.shape[3]",
       [](C& c) {
         c.bottom_grad = Nhwc({2, 14, 14, 198});
       }},
      {"rois.shape[0]",
       [](C& c) {
         c.rois = Array({492, 5});
       }},
      {"pooled_height", [](C& c) { c.pooled_height = -1; }},
      {"output_dim", [](C& c) { c.output_dim = 0; }},
      {"spatial_scale", [](C& c) { c.spatial_scale = 0; }},
  });
}

TEST(Document000, ShortFormInCppChecksTheSame) {
  PsRoiPoolForward call;
  ExpectValid(call.CallShortForm());
  call.output_dim = 0;
  ExpectBad(call.CallShortForm(), "output_dim");
}

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
