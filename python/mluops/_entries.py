# SPDX-License-Identifier: Apache-2.0
"""The operators of the C library and the getters of their workspace sizes, with the order of their
arguments (`_library.function` explains the letters). The NumPy and PyTorch levels call these."""

from __future__ import annotations

from ._library import Entry

NO_WORKSPACE = (None, 0)  # pointer and size: the operator uses the handle's scratch

psamask_forward = Entry("mluOpPsamaskForward", "i h ii h")
psamask_backward = Entry("mluOpPsamaskBackward", "i h ii h")
psamask_nchw_forward = Entry("mluOpPsamaskNchwForward", "i c ii c")
psamask_nchw_backward = Entry("mluOpPsamaskNchwBackward", "i c ii c")

masked_im2col_forward = Entry("mluOpMaskedIm2colForward", "caa iiii pz a")
masked_im2col_backward = Entry("mluOpMaskedIm2colBackward", "aaa iiii pz c")
masked_col2im_forward = Entry("mluOpMaskedCol2imForward", "aaa zp c")
masked_col2im_backward = Entry("mluOpMaskedCol2imBackward", "caa a")

psroipool_forward = Entry("mluOpPsRoiPoolForward", "ii f ii ha pz hh")
psroipool_backward = Entry("mluOpPsRoiPoolBackward", "ii f i hah h")
torchvision_ps_roi_pool_forward = Entry("mluOpTorchvisionPsRoiPoolForward", "ii f ca c")
torchvision_ps_roi_pool_backward = Entry("mluOpTorchvisionPsRoiPoolBackward", "ii f ca c")

border_align_forward = Entry("mluOpBorderAlignForward", "ha i hh")
border_align_backward = Entry("mluOpBorderAlignBackward", "hah i h")

roiaware_pool3d_forward = Entry("mluOpRoiawarePool3dForward", "iiii aaa pz iiii aaa")
roiaware_pool3d_backward = Entry("mluOpRoiawarePool3dBackward", "iiiiiii aaa a")

transpose = Entry("mluOpTranspose", "a a")

psroipool_forward_size = Entry("mluOpGetPsRoiPoolForwardWorkspaceSize", "iii HA p")
roiaware_pool3d_forward_size = Entry("mluOpGetRoiawarePool3dForwardWorkspaceSize", "AAA p")
masked_im2col_forward_size = Entry("mluOpGetMaskedIm2colForwardWorkspaceSize", "CAA ii A p")
masked_col2im_forward_size = Entry("mluOpGetMaskedCol2imForwardWorkspaceSize", "AAAC p")
