// SPDX-License-Identifier: Apache-2.0
// The check lists of documents 003 and 004, written out by hand: a wrong table does not pass here.
#include "tests/validation/document_expect.h"

namespace mluop::testing {
namespace {

TEST(Document003, RefusesEachNull) {
  ExpectEachNullBad<PsamaskForward>({"handle", "x_desc", "x", "y_desc", "y"});
  ExpectEachNullBad<PsamaskBackward>({"handle", "dy_desc", "dy", "dx_desc", "dx"});
}

TEST(Document003, RefusesEachBrokenParameter) {
  using C = PsamaskForward;
  ExpectEachBad<C>({
      {"x.dtype",
       [](C& c) {
         c.x = Nhwc({2, 4, 5, 21}, kHalf);
       }},
      {"y.dtype",
       [](C& c) {
         c.y = Nhwc({2, 4, 5, 20}, kHalf);
       }},
      {"x.layout",
       [](C& c) {
         c.x = Nchw({2, 4, 5, 21});
       }},
      {"y.layout",
       [](C& c) {
         c.y = Array({2, 4, 5, 20});
       }},
      {"y.shape[0]",
       [](C& c) {
         c.y = Nhwc({3, 4, 5, 20});
       }},
      {"y.shape[1]",
       [](C& c) {
         c.y = Nhwc({2, 5, 5, 20});
       }},
      {"y.shape[2]",
       [](C& c) {
         c.y = Nhwc({2, 4, 4, 20});
       }},
      {"x.shape[3]",
       [](C& c) {
         c.x = Nhwc({2, 4, 5, 20});
       }},
      {"y.shape[3]",
       [](C& c) {
         c.y = Nhwc({2, 4, 5, 21});
       }},
      {"x",
       [](C& c) {
         c.x = Nhwc({2, 20, 21});
       }},
      {"y",
       [](C& c) {
         c.y = Nhwc({2, 4, 5, 4, 5});
       }},
      {"psa_type", [](C& c) { c.psa_type = 2; }},
      {"psa_type", [](C& c) { c.psa_type = -1; }},
      {"h_mask", [](C& c) { c.h_mask = 0; }},
      {"w_mask", [](C& c) { c.w_mask = 0; }},
      {"x.shape[3]", [](C& c) { c.h_mask = 4; }},
  });
}

TEST(Document003, BackwardRefusesEachBrokenParameter) {
  using C = PsamaskBackward;
  ExpectEachBad<C>({
      {"dy.dtype",
       [](C& c) {
         c.dy = Nhwc({2, 4, 5, 20}, kHalf);
       }},
      {"dx.layout",
       [](C& c) {
         c.dx = Nchw({2, 4, 5, 21});
       }},
      {"dx.shape[1]",
       [](C& c) {
         c.dx = Nhwc({2, 5, 5, 21});
       }},
      {"dy.shape[3]",
       [](C& c) {
         c.dy = Nhwc({2, 4, 5, 21});
       }},
      {"dx.shape[3]",
       [](C& c) {
         c.dx = Nhwc({2, 4, 5, 20});
       }},
      {"psa_type", [](C& c) { c.psa_type = 2; }},
      {"psa_type", [](C& c) { c.psa_type = -1; }},
      {"h_mask", [](C& c) { c.h_mask = 0; }},
      {"w_mask", [](C& c) { c.w_mask = 0; }},
  });
}

TEST(Document003, EvenMasksAreLegal) {
  PsamaskForward call;
  call.h_mask = 2;
  call.w_mask = 4;
  call.x = Nhwc({2, 4, 5, 8});
  EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS);
}

TEST(Document004, BothNetworkShapesAreValidInFloatAndHalf) {
  for (const mluOpDataType_t type : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    MaskedIm2colForward call;
    call.feature = Nchw({1, 256, 20, 20}, type);
    call.data_col = Array({2304, 200}, type);
    EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
    call.kernel_h = call.kernel_w = 1;
    call.data_col = Array({256, 200}, type);
    EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
  }
}

TEST(Document004, RefusesEachNull) {
  ExpectEachNullBad<MaskedIm2colForward>({"handle", "feature_desc", "feature", "mask_h_idx_desc",
                                          "mask_h_idx", "mask_w_idx_desc", "mask_w_idx",
                                          "data_col_desc", "data_col"});
  ExpectEachNullBad<MaskedIm2colBackward>({"handle", "grad_col_desc", "grad_col", "mask_h_idx_desc",
                                           "mask_h_idx", "mask_w_idx_desc", "mask_w_idx",
                                           "grad_feature_desc", "grad_feature"});
  ExpectEachNullBad<MaskedCol2im>({"handle", "col_desc", "col", "mask_h_idx_desc", "mask_h_idx",
                                   "mask_w_idx_desc", "mask_w_idx", "im_desc", "im"});
}

TEST(Document004, RefusesEachBrokenParameter) {
  using C = MaskedIm2colForward;
  ExpectEachBad<C>({
      {"feature.dtype",
       [](C& c) {
         c.feature = Nchw({1, 256, 20, 20}, kInt32);
       }},
      {"data_col.dtype",
       [](C& c) {
         c.data_col = Array({2304, 200}, kHalf);
       }},
      {"mask_h_idx.dtype", [](C& c) { c.mask_h = Array({200}); }},
      {"mask_w_idx.dtype", [](C& c) { c.mask_w = Array({200}, MLUOP_DTYPE_INT64); }},
      {"feature.layout",
       [](C& c) {
         c.feature = Nhwc({1, 256, 20, 20});
       }},
      {"feature.shape[0]",
       [](C& c) {
         c.feature = Nchw({2, 256, 20, 20});
       }},
      {"data_col.shape[0]",
       [](C& c) {
         c.data_col = Array({2305, 200});
       }},
      {"data_col.shape[1]",
       [](C& c) {
         c.data_col = Array({2304, 201});
       }},
      {"mask_w_idx.shape[0]", [](C& c) { c.mask_w = Array({199}, kInt32); }},
      {"feature",
       [](C& c) {
         c.feature = Nchw({256, 20, 20});
       }},
      {"mask_h_idx",
       [](C& c) {
         c.mask_h = Array({200, 1}, kInt32);
       }},
      {"data_col",
       [](C& c) {
         c.data_col = Array({256, 9, 200});
       }},
      {"kernel_h", [](C& c) { c.kernel_h = 0; }},
      {"kernel_w", [](C& c) { c.kernel_w = 0; }},
      {"data_col.shape[0]", [](C& c) { c.kernel_h = 4; }},
      {"workspace", [](C& c) { c.workspace = nullptr, c.workspace_size = 1; }},
  });
}

TEST(Document004, Col2imRefusesEachBrokenParameter) {
  using C = MaskedCol2im;
  ExpectEachBad<C>({
      {"col.dtype",
       [](C& c) {
         c.col = Array({4, 30}, kInt32);
       }},
      {"im.dtype",
       [](C& c) {
         c.im = Nchw({1, 4, 5, 6}, kHalf);
       }},
      {"mask_h_idx.dtype", [](C& c) { c.mask_h = Array({30}); }},
      {"im.layout",
       [](C& c) {
         c.im = Nhwc({1, 4, 5, 6});
       }},
      {"im.shape[0]",
       [](C& c) {
         c.im = Nchw({2, 4, 5, 6});
       }},
      {"im.shape[1]",
       [](C& c) {
         c.im = Nchw({1, 5, 5, 6});
       }},
      {"mask_h_idx.shape[0]", [](C& c) { c.mask_h = Array({29}, kInt32); }},
      {"workspace", [](C& c) { c.workspace = nullptr, c.workspace_size = 1; }},
  });
}

TEST(Document004, BackwardRefusesEachBrokenParameter) {
  using C = MaskedIm2colBackward;
  ExpectEachBad<C>({
      {"grad_col.dtype",
       [](C& c) {
         c.grad_col = Array({36, 30}, kInt32);
       }},
      {"grad_feature.dtype",
       [](C& c) {
         c.grad_feature = Nchw({1, 4, 5, 6}, kHalf);
       }},
      {"grad_feature.layout",
       [](C& c) {
         c.grad_feature = Nhwc({1, 4, 5, 6});
       }},
      {"grad_feature.shape[0]",
       [](C& c) {
         c.grad_feature = Nchw({2, 4, 5, 6});
       }},
      {"grad_col.shape[0]",
       [](C& c) {
         c.grad_col = Array({37, 30});
       }},
      {"kernel_h", [](C& c) { c.kernel_h = 0; }},
      {"kernel_w", [](C& c) { c.kernel_w = 0; }},
      {"workspace", [](C& c) { c.workspace = nullptr, c.workspace_size = 1; }},
  });
}

TEST(Document004, AnyPadIsLegal) {
  for (const int pad : {INT32_MIN, -1, 0, INT32_MAX}) {
    MaskedIm2colForward call;
    call.pad_h = call.pad_w = pad;
    EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
  }
}

}  // namespace
}  // namespace mluop::testing
