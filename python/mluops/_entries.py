# SPDX-License-Identifier: Apache-2.0
"""The operators of the C library over any kind of tensor: the levels of NumPy and of PyTorch share
them. Tensors are packed and in the C layout; the context `c` knows where they lie. Outputs come
last. A workspace is (pointer, size); without one the handle's own scratch serves."""

from __future__ import annotations

import ctypes
from typing import Any

from ._context import ARRAY, NCHW, NHWC, Context
from ._library import function

NO_WORKSPACE = (0, 0)

_psamask_forward = function("mluOpPsamaskForward")
_psamask_backward = function("mluOpPsamaskBackward")
_psamask_nchw_forward = function("mluOpPsamaskNchwForward")
_psamask_nchw_backward = function("mluOpPsamaskNchwBackward")
_masked_im2col_forward = function("mluOpMaskedIm2colForward")
_masked_im2col_backward = function("mluOpMaskedIm2colBackward")
_masked_col2im_forward = function("mluOpMaskedCol2imForward")
_psroipool_forward = function("mluOpPsRoiPoolForward")
_psroipool_backward = function("mluOpPsRoiPoolBackward")
_torchvision_forward = function("mluOpTorchvisionPsRoiPoolForward")
_torchvision_backward = function("mluOpTorchvisionPsRoiPoolBackward")
_border_align_forward = function("mluOpBorderAlignForward")
_border_align_backward = function("mluOpBorderAlignBackward")
_roiaware_forward = function("mluOpRoiawarePool3dForward")
_roiaware_backward = function("mluOpRoiawarePool3dBackward")
_transpose = function("mluOpTranspose")
_psroipool_size = function("mluOpGetPsRoiPoolForwardWorkspaceSize")
_roiaware_size = function("mluOpGetRoiawarePool3dForwardWorkspaceSize")
_im2col_size = function("mluOpGetMaskedIm2colForwardWorkspaceSize")
_col2im_size = function("mluOpGetMaskedCol2imForwardWorkspaceSize")


def psamask_forward(c: Context, psa_type: int, x: Any, h_mask: int, w_mask: int, y: Any) -> None:
    t = c.tensor
    c.run(_psamask_forward, psa_type, *t(x, NHWC), h_mask, w_mask, *t(y, NHWC))


def psamask_backward(c: Context, psa_type: int, dy: Any, h_mask: int, w_mask: int, dx: Any) -> None:
    t = c.tensor
    c.run(_psamask_backward, psa_type, *t(dy, NHWC), h_mask, w_mask, *t(dx, NHWC))


def psamask_nchw_forward(
    c: Context, psa_type: int, x: Any, h_mask: int, w_mask: int, y: Any
) -> None:
    t = c.tensor
    c.run(_psamask_nchw_forward, psa_type, *t(x, NCHW), h_mask, w_mask, *t(y, NCHW))


def psamask_nchw_backward(
    c: Context, psa_type: int, dy: Any, h_mask: int, w_mask: int, dx: Any
) -> None:
    t = c.tensor
    c.run(_psamask_nchw_backward, psa_type, *t(dy, NCHW), h_mask, w_mask, *t(dx, NCHW))


def masked_im2col_forward(
    c: Context,
    feature: Any,
    mask_h: Any,
    mask_w: Any,
    kernel: tuple,
    pad: tuple,
    data_col: Any,
    workspace: tuple = NO_WORKSPACE,
) -> None:
    t = c.tensor
    c.run(
        _masked_im2col_forward,
        *t(feature, NCHW),
        *t(mask_h, ARRAY),
        *t(mask_w, ARRAY),
        *kernel,
        *pad,
        *workspace,
        *t(data_col, ARRAY),
    )


def masked_im2col_backward(
    c: Context,
    grad_col: Any,
    mask_h: Any,
    mask_w: Any,
    kernel: tuple,
    pad: tuple,
    grad_feature: Any,
    workspace: tuple = NO_WORKSPACE,
) -> None:
    t = c.tensor
    c.run(
        _masked_im2col_backward,
        *t(grad_col, ARRAY),
        *t(mask_h, ARRAY),
        *t(mask_w, ARRAY),
        *kernel,
        *pad,
        *workspace,
        *t(grad_feature, NCHW),
    )


def masked_col2im_forward(
    c: Context, col: Any, mask_h: Any, mask_w: Any, im: Any, workspace: tuple = NO_WORKSPACE
) -> None:
    t = c.tensor
    c.run(
        _masked_col2im_forward,
        *t(col, ARRAY),
        *t(mask_h, ARRAY),
        *t(mask_w, ARRAY),
        workspace[1],
        workspace[0],
        *t(im, NCHW),
    )


def psroipool_forward(
    c: Context,
    pooled: tuple,
    spatial_scale: float,
    group_size: int,
    output_dim: int,
    input: Any,
    rois: Any,
    output: Any,
    mapping_channel: Any,
    workspace: tuple = NO_WORKSPACE,
) -> None:
    t = c.tensor
    c.run(
        _psroipool_forward,
        *pooled,
        spatial_scale,
        group_size,
        output_dim,
        *t(input, NHWC),
        *t(rois, ARRAY),
        *workspace,
        *t(output, NHWC),
        *t(mapping_channel, NHWC),
    )


def psroipool_backward(
    c: Context,
    pooled: tuple,
    spatial_scale: float,
    output_dim: int,
    top_grad: Any,
    rois: Any,
    mapping_channel: Any,
    bottom_grad: Any,
) -> None:
    t = c.tensor
    c.run(
        _psroipool_backward,
        *pooled,
        spatial_scale,
        output_dim,
        *t(top_grad, NHWC),
        *t(rois, ARRAY),
        *t(mapping_channel, NHWC),
        *t(bottom_grad, NHWC),
    )


def torchvision_ps_roi_pool_forward(
    c: Context, pooled: tuple, spatial_scale: float, input: Any, rois: Any, output: Any
) -> None:
    t = c.tensor
    c.run(
        _torchvision_forward,
        *pooled,
        spatial_scale,
        *t(input, NCHW),
        *t(rois, ARRAY),
        *t(output, NCHW),
    )


def torchvision_ps_roi_pool_backward(
    c: Context, pooled: tuple, spatial_scale: float, grad_output: Any, rois: Any, grad_input: Any
) -> None:
    t = c.tensor
    c.run(
        _torchvision_backward,
        *pooled,
        spatial_scale,
        *t(grad_output, NCHW),
        *t(rois, ARRAY),
        *t(grad_input, NCHW),
    )


def border_align_forward(
    c: Context, input: Any, boxes: Any, pool_size: int, output: Any, argmax_idx: Any
) -> None:
    t = c.tensor
    c.run(
        _border_align_forward,
        *t(input, NHWC),
        *t(boxes, ARRAY),
        pool_size,
        *t(output, NHWC),
        *t(argmax_idx, NHWC),
    )


def border_align_backward(
    c: Context, grad_output: Any, boxes: Any, argmax_idx: Any, pool_size: int, grad_input: Any
) -> None:
    t = c.tensor
    c.run(
        _border_align_backward,
        *t(grad_output, NHWC),
        *t(boxes, ARRAY),
        *t(argmax_idx, NHWC),
        pool_size,
        *t(grad_input, NHWC),
    )


def roiaware_pool3d_forward(
    c: Context,
    pool_method: int,
    rois: Any,
    pts: Any,
    pts_feature: Any,
    max_pts: int,
    out_size: tuple,
    argmax: Any,
    pts_idx: Any,
    pooled: Any,
    workspace: tuple = NO_WORKSPACE,
) -> None:
    t = c.tensor
    c.run(
        _roiaware_forward,
        pool_method,
        rois.shape[0],
        pts.shape[0],
        pts_feature.shape[-1],
        *t(rois, ARRAY),
        *t(pts, ARRAY),
        *t(pts_feature, ARRAY),
        *workspace,
        max_pts,
        *out_size,
        *_optional(c, argmax),
        *t(pts_idx, ARRAY),
        *t(pooled, ARRAY),
    )


def roiaware_pool3d_backward(
    c: Context, pool_method: int, pts_idx: Any, argmax: Any, grad_out: Any, grad_in: Any
) -> None:
    t = c.tensor
    c.run(
        _roiaware_backward,
        pool_method,
        *grad_out.shape[:5],
        pts_idx.shape[-1],
        *t(pts_idx, ARRAY),
        *_optional(c, argmax),
        *t(grad_out, ARRAY),
        *t(grad_in, ARRAY),
    )


def transpose(c: Context, input: Any, output: Any, n: int, rows: int, columns: int) -> None:
    """Elements as n matrices of rows x columns."""
    t = c.tensor
    c.run(
        _transpose,
        *t(input, ARRAY, (n, rows, columns)),
        *t(output, ARRAY, (n, columns, rows)),
    )


def _optional(c: Context, tensor: Any) -> tuple:
    return (0, 0) if tensor is None else (c.descriptor(tensor, ARRAY), c.pointer(tensor))


def _size(entry: Any, c: Context, *arguments: Any) -> int:
    size = ctypes.c_size_t()
    c.run(entry, *arguments, ctypes.addressof(size))
    return size.value


def psroipool_forward_workspace(
    c: Context, pooled: tuple, output_dim: int, input: Any, rois: Any
) -> int:
    return _size(
        _psroipool_size,
        c,
        *pooled,
        output_dim,
        c.descriptor(input, NHWC),
        c.descriptor(rois, ARRAY),
    )


def roiaware_pool3d_forward_workspace(c: Context, rois: Any, pts: Any, pts_feature: Any) -> int:
    return _size(
        _roiaware_size, c, *(c.descriptor(tensor, ARRAY) for tensor in (rois, pts, pts_feature))
    )


def masked_im2col_forward_workspace(
    c: Context, feature: Any, mask_h: Any, mask_w: Any, kernel: tuple, data_col: Any
) -> int:
    d = c.descriptor
    return _size(
        _im2col_size,
        c,
        d(feature, NCHW),
        d(mask_h, ARRAY),
        d(mask_w, ARRAY),
        *kernel,
        d(data_col, ARRAY),
    )


def masked_col2im_forward_workspace(c: Context, col: Any, mask_h: Any, mask_w: Any, im: Any) -> int:
    d = c.descriptor
    return _size(_col2im_size, c, d(col, ARRAY), d(mask_h, ARRAY), d(mask_w, ARRAY), d(im, NCHW))
