# SPDX-License-Identifier: Apache-2.0
"""The operators of the C library over any kind of tensor: the levels of NumPy and of PyTorch share
them. Tensors are packed and in the C layout; the context `c` knows where they lie. Outputs come
last. A workspace is (pointer, size); without one the handle's own scratch serves."""

from __future__ import annotations

import ctypes
from typing import Any

from ._context import ARRAY, NCHW, NHWC, Context
from ._library import check, function

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
    d, p = c.descriptor, c.pointer
    c.run(_psamask_forward, psa_type, d(x, NHWC), p(x), h_mask, w_mask, d(y, NHWC), p(y))


def psamask_backward(c: Context, psa_type: int, dy: Any, h_mask: int, w_mask: int, dx: Any) -> None:
    d, p = c.descriptor, c.pointer
    c.run(_psamask_backward, psa_type, d(dy, NHWC), p(dy), h_mask, w_mask, d(dx, NHWC), p(dx))


def psamask_nchw_forward(
    c: Context, psa_type: int, x: Any, h_mask: int, w_mask: int, y: Any
) -> None:
    d, p = c.descriptor, c.pointer
    c.run(_psamask_nchw_forward, psa_type, d(x, NCHW), p(x), h_mask, w_mask, d(y, NCHW), p(y))


def psamask_nchw_backward(
    c: Context, psa_type: int, dy: Any, h_mask: int, w_mask: int, dx: Any
) -> None:
    d, p = c.descriptor, c.pointer
    c.run(_psamask_nchw_backward, psa_type, d(dy, NCHW), p(dy), h_mask, w_mask, d(dx, NCHW), p(dx))


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
    d, p = c.descriptor, c.pointer
    c.run(
        _masked_im2col_forward,
        d(feature, NCHW),
        p(feature),
        d(mask_h, ARRAY),
        p(mask_h),
        d(mask_w, ARRAY),
        p(mask_w),
        *kernel,
        *pad,
        *workspace,
        d(data_col, ARRAY),
        p(data_col),
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
    d, p = c.descriptor, c.pointer
    c.run(
        _masked_im2col_backward,
        d(grad_col, ARRAY),
        p(grad_col),
        d(mask_h, ARRAY),
        p(mask_h),
        d(mask_w, ARRAY),
        p(mask_w),
        *kernel,
        *pad,
        *workspace,
        d(grad_feature, NCHW),
        p(grad_feature),
    )


def masked_col2im_forward(
    c: Context, col: Any, mask_h: Any, mask_w: Any, im: Any, workspace: tuple = NO_WORKSPACE
) -> None:
    d, p = c.descriptor, c.pointer
    c.run(
        _masked_col2im_forward,
        d(col, ARRAY),
        p(col),
        d(mask_h, ARRAY),
        p(mask_h),
        d(mask_w, ARRAY),
        p(mask_w),
        workspace[1],
        workspace[0],
        d(im, NCHW),
        p(im),
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
    d, p = c.descriptor, c.pointer
    c.run(
        _psroipool_forward,
        *pooled,
        spatial_scale,
        group_size,
        output_dim,
        d(input, NHWC),
        p(input),
        d(rois, ARRAY),
        p(rois),
        *workspace,
        d(output, NHWC),
        p(output),
        d(mapping_channel, NHWC),
        p(mapping_channel),
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
    d, p = c.descriptor, c.pointer
    c.run(
        _psroipool_backward,
        *pooled,
        spatial_scale,
        output_dim,
        d(top_grad, NHWC),
        p(top_grad),
        d(rois, ARRAY),
        p(rois),
        d(mapping_channel, NHWC),
        p(mapping_channel),
        d(bottom_grad, NHWC),
        p(bottom_grad),
    )


def torchvision_ps_roi_pool_forward(
    c: Context, pooled: tuple, spatial_scale: float, input: Any, rois: Any, output: Any
) -> None:
    d, p = c.descriptor, c.pointer
    c.run(
        _torchvision_forward,
        *pooled,
        spatial_scale,
        d(input, NCHW),
        p(input),
        d(rois, ARRAY),
        p(rois),
        d(output, NCHW),
        p(output),
    )


def torchvision_ps_roi_pool_backward(
    c: Context, pooled: tuple, spatial_scale: float, grad_output: Any, rois: Any, grad_input: Any
) -> None:
    d, p = c.descriptor, c.pointer
    c.run(
        _torchvision_backward,
        *pooled,
        spatial_scale,
        d(grad_output, NCHW),
        p(grad_output),
        d(rois, ARRAY),
        p(rois),
        d(grad_input, NCHW),
        p(grad_input),
    )


def border_align_forward(
    c: Context, input: Any, boxes: Any, pool_size: int, output: Any, argmax_idx: Any
) -> None:
    d, p = c.descriptor, c.pointer
    c.run(
        _border_align_forward,
        d(input, NHWC),
        p(input),
        d(boxes, ARRAY),
        p(boxes),
        pool_size,
        d(output, NHWC),
        p(output),
        d(argmax_idx, NHWC),
        p(argmax_idx),
    )


def border_align_backward(
    c: Context, grad_output: Any, boxes: Any, argmax_idx: Any, pool_size: int, grad_input: Any
) -> None:
    d, p = c.descriptor, c.pointer
    c.run(
        _border_align_backward,
        d(grad_output, NHWC),
        p(grad_output),
        d(boxes, ARRAY),
        p(boxes),
        d(argmax_idx, NHWC),
        p(argmax_idx),
        pool_size,
        d(grad_input, NHWC),
        p(grad_input),
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
    d, p = c.descriptor, c.pointer
    c.run(
        _roiaware_forward,
        pool_method,
        rois.shape[0],
        pts.shape[0],
        pts_feature.shape[-1],
        d(rois, ARRAY),
        p(rois),
        d(pts, ARRAY),
        p(pts),
        d(pts_feature, ARRAY),
        p(pts_feature),
        *workspace,
        max_pts,
        *out_size,
        *_optional(c, argmax),
        d(pts_idx, ARRAY),
        p(pts_idx),
        d(pooled, ARRAY),
        p(pooled),
    )


def roiaware_pool3d_backward(
    c: Context, pool_method: int, pts_idx: Any, argmax: Any, grad_out: Any, grad_in: Any
) -> None:
    d, p = c.descriptor, c.pointer
    c.run(
        _roiaware_backward,
        pool_method,
        *grad_out.shape,
        pts_idx.shape[-1],
        d(pts_idx, ARRAY),
        p(pts_idx),
        *_optional(c, argmax),
        d(grad_out, ARRAY),
        p(grad_out),
        d(grad_in, ARRAY),
        p(grad_in),
    )


def transpose(c: Context, input: Any, output: Any, n: int, rows: int, columns: int) -> None:
    """Elements as n matrices of rows x columns."""
    d, p = c.descriptor, c.pointer
    c.run(
        _transpose,
        d(input, ARRAY, (n, rows, columns)),
        p(input),
        d(output, ARRAY, (n, columns, rows)),
        p(output),
    )


def _optional(c: Context, tensor: Any) -> tuple:
    return (0, 0) if tensor is None else (c.descriptor(tensor, ARRAY), c.pointer(tensor))


def _size(entry: Any, c: Context, *arguments: Any) -> int:
    size = ctypes.c_size_t()
    check(entry(c.handle, *arguments, ctypes.addressof(size)))
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
