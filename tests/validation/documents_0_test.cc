// SPDX-License-Identifier: Apache-2.0
// The check lists and negative cases of document 000, written out by hand: a wrong table
// does not pass here.
#include <cmath>

#include "tests/validation/document_expect.h"

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
      {"pooled_width", [](C& c) { c.pooled_width = 0; }},
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
      {"pooled_width", [](C& c) { c.pooled_width = -1; }},
      {"pooled_width", [](C& c) { c.pooled_width = 2; }},
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

}  // namespace
}  // namespace mluop::testing
