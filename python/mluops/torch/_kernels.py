# SPDX-License-Identifier: Apache-2.0
"""The operators on tensors of the CPU and of CUDA, in PyTorch's layouts.

A result has the type of the features. Where the C operator has no such type (bfloat16, float64;
float16 in psa_mask and ps_roi_pool), or boxes come in more precision than half features, the
features are converted to float32 and the result back. A result follows the features' memory format:
channels_last, which is the layout of the C library and costs no copy, or else contiguous.
"""

from __future__ import annotations

from typing import Callable, List, Tuple

import torch
from torch import Tensor

from .. import _entries
from .._library import BadParamError
from ._context import context_of

_FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _type(features: Tensor, *others: Tensor, half: bool = True) -> torch.dtype:
    """The type to compute in."""
    if features.dtype not in _FLOATING:
        raise BadParamError(
            f"mluops: features must be a floating-point tensor, got {features.dtype}"
        )
    if half and all(t.dtype == torch.float16 for t in (features, *others)):
        return torch.float16
    return torch.float32


def follows_channels_last(x: Tensor) -> bool:
    return not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)


def _packed(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x.to(dtype).contiguous()


def _nhwc(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Features in the C layout."""
    x = x.to(dtype)
    n, channels, height, width = x.shape
    if x.is_contiguous(memory_format=torch.channels_last):
        return x.permute(0, 2, 3, 1)
    x, result = x.contiguous(), x.new_empty((n, height, width, channels))
    _entries.transpose(context_of(x), x, result, n, channels, height * width)
    return result


def _nchw(x: Tensor, like: Tensor, channels_last: bool) -> Tensor:
    """A result in the C layout as PyTorch's shape, in the type of the features."""
    if channels_last:
        return x.to(like.dtype).permute(0, 3, 1, 2)
    n, height, width, channels = x.shape
    result = x.new_empty((n, channels, height, width))
    _entries.transpose(context_of(x), x, result, n, height * width, channels)
    return result.to(like.dtype)


def _result(like: Tensor, shape: Tuple[int, ...], dtype: torch.dtype, filled: bool) -> Tensor:
    """Memory that an operator will fill, or zeros where there is nothing to compute."""
    make = like.new_empty if filled else like.new_zeros
    return make(shape, dtype=dtype)


def _indices(*tensors: Tensor) -> List[Tensor]:
    """Places as the C library takes them. What is outside int32 is outside of every map."""
    for tensor in tensors:
        if tensor.dtype not in (torch.int32, torch.int64):
            raise BadParamError(f"mluops: indices must be int32 or int64, got {tensor.dtype}")
    return [
        _packed(tensor.clamp(-(1 << 31), (1 << 31) - 1), torch.int32)
        if tensor.dtype == torch.int64
        else tensor.contiguous()
        for tensor in tensors
    ]


def _workspace(like: Tensor, size: Callable[[], int]) -> Tuple[Tuple[int, int], object]:
    """Memory of torch's allocator on a GPU, and what keeps it; the CPU's handle has its own."""
    if like.is_cpu:
        return _entries.NO_WORKSPACE, None
    memory = torch.empty(size(), dtype=torch.uint8, device=like.device)
    return (memory.data_ptr(), memory.numel()), memory


def psa_mask(input: Tensor, psa_type: int, h_mask: int, w_mask: int) -> Tensor:
    dtype, channels_last = _type(input, half=False), follows_channels_last(input)
    n, _, height, width = input.shape
    if channels_last:
        x = _nhwc(input, dtype)
        y = x.new_empty((n, height, width, height * width))
        _entries.psamask_forward(context_of(x), psa_type, x, h_mask, w_mask, y)
        return _nchw(y, input, channels_last)
    x = _packed(input, dtype)
    y = x.new_empty((n, height * width, height, width))
    _entries.psamask_nchw_forward(context_of(x), psa_type, x, h_mask, w_mask, y)
    return y.to(input.dtype)


def psa_mask_backward(grad: Tensor, psa_type: int, h_mask: int, w_mask: int) -> Tensor:
    dtype, channels_last = _type(grad, half=False), follows_channels_last(grad)
    n, _, height, width = grad.shape
    if channels_last:
        dy = _nhwc(grad, dtype)
        dx = dy.new_empty((n, height, width, h_mask * w_mask))
        _entries.psamask_backward(context_of(dy), psa_type, dy, h_mask, w_mask, dx)
        return _nchw(dx, grad, channels_last)
    dy = _packed(grad, dtype)
    dx = dy.new_empty((n, h_mask * w_mask, height, width))
    _entries.psamask_nchw_backward(context_of(dy), psa_type, dy, h_mask, w_mask, dx)
    return dx.to(grad.dtype)


def border_align(input: Tensor, boxes: Tensor, pool_size: int) -> Tuple[Tensor, Tensor]:
    dtype = _type(input, boxes)
    shape = (input.shape[0], boxes.shape[1], 4, input.shape[1] // 4)
    some = bool(boxes.numel() and input.numel())
    output = _result(input, shape, dtype, some)
    argmax = _result(input, shape, torch.int32, some)
    if some:
        x = _nhwc(input, dtype)
        _entries.border_align_forward(
            context_of(x), x, _packed(boxes, dtype), pool_size, output, argmax
        )
    return _nchw(output, input, follows_channels_last(input)), argmax


def border_align_backward(
    grad: Tensor, boxes: Tensor, argmax: Tensor, pool_size: int, height: int, width: int
) -> Tensor:
    dtype = _type(grad, boxes)
    n, channels = grad.shape[:2]
    some = bool(grad.numel() and height * width)
    grad_input = _result(grad, (n, height, width, 4 * channels), dtype, some)
    if some:
        g = _nhwc(grad, dtype)
        _entries.border_align_backward(
            context_of(g), g, _packed(boxes, dtype), argmax.contiguous(), pool_size, grad_input
        )
    return _nchw(grad_input, grad, follows_channels_last(grad))


def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> Tensor:
    x, rois = _packed(input, _type(input, half=False)), _packed(rois, torch.float32)
    channels = x.shape[1] // max(pooled_height * pooled_width, 1)
    output = x.new_empty((rois.shape[0], channels, pooled_height, pooled_width))
    _entries.torchvision_ps_roi_pool_forward(
        context_of(x), (pooled_height, pooled_width), spatial_scale, x, rois, output
    )
    return output.to(input.dtype)


def ps_roi_pool_backward(
    grad: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    input_shape: List[int],
) -> Tensor:
    g, rois = _packed(grad, _type(grad, half=False)), _packed(rois, torch.float32)
    grad_input = g.new_empty(tuple(input_shape))
    _entries.torchvision_ps_roi_pool_backward(
        context_of(g), (pooled_height, pooled_width), spatial_scale, g, rois, grad_input
    )
    return grad_input.to(grad.dtype)


def rfcn_ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, group_size: int
) -> Tuple[Tensor, Tensor]:
    channels = input.shape[1] // max(group_size * group_size, 1)
    shape = (rois.shape[0], group_size, group_size, channels)
    some = bool(rois.numel() and input.numel())
    output = _result(input, shape, torch.float32, some)
    mapping = _result(input, shape, torch.int32, some)
    if some:
        x, rois = _nhwc(input, _type(input, half=False)), _packed(rois, torch.float32)
        context, pooled = context_of(x), (group_size, group_size)
        workspace, memory = _workspace(
            x, lambda: _entries.psroipool_forward_workspace(context, pooled, channels, x, rois)
        )
        _entries.psroipool_forward(
            context,
            pooled,
            spatial_scale,
            group_size,
            channels,
            x,
            rois,
            output,
            mapping,
            workspace,
        )
        del memory
    return _nchw(output, input, follows_channels_last(input)), mapping


def rfcn_ps_roi_pool_backward(
    grad: Tensor, rois: Tensor, mapping: Tensor, spatial_scale: float, input_shape: List[int]
) -> Tensor:
    n, input_channels, height, width = input_shape
    channels, group_size = grad.shape[1], grad.shape[2]
    some = bool(grad.numel() and n * height * width)
    grad_input = _result(grad, (n, height, width, input_channels), torch.float32, some)
    if some:
        g = _nhwc(grad, _type(grad, half=False))
        _entries.psroipool_backward(
            context_of(g),
            (group_size, group_size),
            spatial_scale,
            channels,
            g,
            _packed(rois, torch.float32),
            mapping.contiguous(),
            grad_input,
        )
    return _nchw(grad_input, grad, follows_channels_last(grad))


def roiaware_pool3d(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: List[int],
    max_pts_each_voxel: int,
    pool_method: int,
) -> Tuple[Tensor, Tensor, Tensor]:
    dtype = _type(pts_feature, rois, pts)
    grid, channels = (rois.shape[0], *out_size), pts_feature.shape[1]
    features = _packed(pts_feature, dtype)
    some = bool(rois.numel() and features.numel())
    pooled = _result(features, (*grid, channels), dtype, some)
    argmax = _result(features, (*grid, channels), torch.int32, some)
    indices = _result(features, (*grid, max_pts_each_voxel), torch.int32, some)
    if not some and pool_method == 0:
        argmax.fill_(-1)
    if some:
        rois, pts = _packed(rois, dtype), _packed(pts, dtype)
        context = context_of(features)
        workspace, memory = _workspace(
            features,
            lambda: _entries.roiaware_pool3d_forward_workspace(context, rois, pts, features),
        )
        _entries.roiaware_pool3d_forward(
            context,
            pool_method,
            rois,
            pts,
            features,
            max_pts_each_voxel,
            tuple(out_size),
            argmax,
            indices,
            pooled,
            workspace,
        )
        del memory
    return pooled.to(pts_feature.dtype), argmax, indices


def roiaware_pool3d_backward(
    grad: Tensor, argmax: Tensor, indices: Tensor, pool_method: int, pts_num: int
) -> Tensor:
    g = _packed(grad, _type(grad))
    some = bool(g.numel() and pts_num)
    grad_features = _result(g, (pts_num, g.shape[4]), g.dtype, some)
    if some:
        _entries.roiaware_pool3d_backward(
            context_of(g), pool_method, indices.contiguous(), argmax.contiguous(), g, grad_features
        )
    return grad_features.to(grad.dtype)


def masked_im2col(
    input: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, kernel: List[int], padding: List[int]
) -> Tensor:
    x = _packed(input, _type(input))
    at = _indices(mask_h_idx, mask_w_idx)
    columns = x.new_empty((x.shape[1] * kernel[0] * kernel[1], at[0].shape[0]))
    context = context_of(x)
    workspace, memory = _workspace(
        x, lambda: _entries.masked_im2col_forward_workspace(context, x, *at, kernel, columns)
    )
    _entries.masked_im2col_forward(context, x, *at, kernel, padding, columns, workspace)
    del memory
    return columns.to(input.dtype)


def masked_im2col_backward(
    grad: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    kernel: List[int],
    padding: List[int],
    height: int,
    width: int,
) -> Tensor:
    g = _packed(grad, _type(grad))
    at = _indices(mask_h_idx, mask_w_idx)
    channels = g.shape[0] // max(kernel[0] * kernel[1], 1)
    some = bool(g.numel())
    grad_input = _result(g, (1, channels, height, width), g.dtype, some)
    if some:
        _entries.masked_im2col_backward(context_of(g), g, *at, kernel, padding, grad_input)
    return grad_input.to(grad.dtype)


def masked_col2im(
    col: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, height: int, width: int
) -> Tensor:
    columns = _packed(col, _type(col))
    at = _indices(mask_h_idx, mask_w_idx)
    im = columns.new_empty((1, columns.shape[0], height, width))
    context = context_of(columns)
    workspace, memory = _workspace(
        columns, lambda: _entries.masked_col2im_forward_workspace(context, columns, *at, im)
    )
    _entries.masked_col2im_forward(context, columns, *at, im, workspace)
    del memory
    return im.to(col.dtype)
