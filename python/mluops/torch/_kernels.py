# SPDX-License-Identifier: Apache-2.0
"""The operators on CPU and CUDA tensors, in PyTorch's layouts.

A result has the type of the features. If the C operator lacks that type (bfloat16, float64; float16
in psa_mask and ps_roi_pool), the features are converted to float32 and the result back. The same
holds for half features with boxes of higher precision. A result has the memory format of the
features: channels_last, the layout of the C library, which needs no copy, or else contiguous.
"""

from __future__ import annotations

from typing import Any, List, Tuple

import torch
from torch import Tensor

from .. import _entries
from .._library import BadParamError, Entry
from ._context import context_of
from ._memory import empty

_FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _type(features: Tensor, *others: Tensor, half: bool = True) -> torch.dtype:
    """Returns the type in which to compute."""
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
    """Converts features to NHWC, the C layout."""
    x = x.to(dtype)
    n, channels, height, width = x.shape
    if x.is_contiguous(memory_format=torch.channels_last):
        return x.permute(0, 2, 3, 1)
    result = empty(x, (n, height * width, channels))
    planes = x.contiguous().view(n, channels, height * width)
    context_of(x).call(_entries.transpose, planes, result)
    return result.view(n, height, width, channels)


def _nchw(x: Tensor, like: Tensor, channels_last: bool) -> Tensor:
    """Converts a result from NHWC to PyTorch's shape and the type of `like`."""
    if channels_last:
        return x.to(like.dtype).permute(0, 3, 1, 2)
    n, height, width, channels = x.shape
    result = empty(x, (n, channels, height * width))
    context_of(x).call(_entries.transpose, x.view(n, height * width, channels), result)
    return result.view(n, channels, height, width).to(like.dtype)


def _result(like: Tensor, shape: Tuple[int, ...], dtype: torch.dtype, filled: bool) -> Tensor:
    """Returns uninitialised memory for an operator to fill, or zeros if none will run."""
    return empty(like, shape, dtype) if filled else like.new_zeros(shape, dtype=dtype)


def _indices(*tensors: Tensor) -> List[Tensor]:
    """Converts indices to int32 for the C library. Clamping keeps outside indices outside."""
    for tensor in tensors:
        if tensor.dtype not in (torch.int32, torch.int64):
            raise BadParamError(f"mluops: indices must be int32 or int64, got {tensor.dtype}")
    return [
        _packed(tensor.clamp(-(1 << 31), (1 << 31) - 1), torch.int32)
        if tensor.dtype == torch.int64
        else tensor.contiguous()
        for tensor in tensors
    ]


class _Workspace:
    """A workspace from torch's allocator, on CUDA. On the CPU the handle's scratch is used."""

    def __init__(self, like: Tensor, getter: Entry, *arguments: Any):
        self.pair: Tuple[Any, int] = _entries.NO_WORKSPACE
        if not like.is_cpu:
            size = context_of(like).size(getter, *arguments)
            self._memory = like.new_empty(size, dtype=torch.uint8)
            self.pair = (self._memory.data_ptr(), size)


def _psa_mask(
    source: Tensor, psa_type: int, mask: Tuple[int, int], channels: int, nhwc: Entry, nchw: Entry
) -> Tensor:
    """Runs either direction. The result has the pixels of the source, and `channels` channels."""
    dtype, channels_last = _type(source, half=False), follows_channels_last(source)
    n, _, height, width = source.shape
    if channels_last:
        x = _nhwc(source, dtype)
        y = empty(x, (n, height, width, channels))
        context_of(x).call(nhwc, psa_type, x, *mask, y)
        return _nchw(y, source, channels_last)
    x = _packed(source, dtype)
    y = empty(x, (n, channels, height, width))
    context_of(x).call(nchw, psa_type, x, *mask, y)
    return y.to(source.dtype)


def psa_mask(input: Tensor, psa_type: int, h_mask: int, w_mask: int) -> Tensor:
    entries = _entries.psamask_forward, _entries.psamask_nchw_forward
    pixels = input.shape[2] * input.shape[3]
    return _psa_mask(input, psa_type, (h_mask, w_mask), pixels, *entries)


def psa_mask_backward(grad: Tensor, psa_type: int, h_mask: int, w_mask: int) -> Tensor:
    entries = _entries.psamask_backward, _entries.psamask_nchw_backward
    return _psa_mask(grad, psa_type, (h_mask, w_mask), h_mask * w_mask, *entries)


def border_align(input: Tensor, boxes: Tensor, pool_size: int) -> Tuple[Tensor, Tensor]:
    dtype = _type(input, boxes)
    shape = (input.shape[0], boxes.shape[1], 4, input.shape[1] // 4)
    some = bool(boxes.numel() and input.numel())
    output = _result(input, shape, dtype, some)
    argmax = _result(input, shape, torch.int32, some)
    if some:
        x, b = _nhwc(input, dtype), _packed(boxes, dtype)
        context_of(x).call(_entries.border_align_forward, x, b, pool_size, output, argmax)
    return _nchw(output, input, follows_channels_last(input)), argmax


def border_align_backward(
    grad: Tensor, boxes: Tensor, argmax: Tensor, pool_size: int, height: int, width: int
) -> Tensor:
    dtype = _type(grad, boxes)
    n, channels = grad.shape[:2]
    some = bool(grad.numel() and height * width)
    result = _result(grad, (n, height, width, 4 * channels), dtype, some)
    if some:
        g, b = _nhwc(grad, dtype), _packed(boxes, dtype)
        context_of(g).call(
            _entries.border_align_backward, g, b, argmax.contiguous(), pool_size, result
        )
    return _nchw(result, grad, follows_channels_last(grad))


def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> Tensor:
    x, r = _packed(input, _type(input, half=False)), _packed(rois, torch.float32)
    pooled = (pooled_height, pooled_width)
    output = empty(x, (r.shape[0], x.shape[1] // (pooled_height * pooled_width), *pooled))
    context_of(x).call(
        _entries.torchvision_ps_roi_pool_forward, *pooled, spatial_scale, x, r, output
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
    g, r = _packed(grad, _type(grad, half=False)), _packed(rois, torch.float32)
    result = empty(g, tuple(input_shape))
    pooled = (pooled_height, pooled_width)
    context_of(g).call(
        _entries.torchvision_ps_roi_pool_backward, *pooled, spatial_scale, g, r, result
    )
    return result.to(grad.dtype)


def rfcn_ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, group_size: int
) -> Tuple[Tensor, Tensor]:
    channels, pooled = input.shape[1] // group_size**2, (group_size, group_size)
    shape = (rois.shape[0], *pooled, channels)
    some = bool(rois.numel() and input.numel())
    output = _result(input, shape, torch.float32, some)
    mapping = _result(input, shape, torch.int32, some)
    if some:
        x, r = _nhwc(input, _type(input, half=False)), _packed(rois, torch.float32)
        context = context_of(x)
        workspace = _Workspace(x, _entries.psroipool_forward_size, *pooled, channels, x, r)
        context.call(
            _entries.psroipool_forward,
            *(*pooled, spatial_scale, group_size, channels, x, r),
            *(*workspace.pair, output, mapping),
        )
    return _nchw(output, input, follows_channels_last(input)), mapping


def rfcn_ps_roi_pool_backward(
    grad: Tensor, rois: Tensor, mapping: Tensor, spatial_scale: float, input_shape: List[int]
) -> Tensor:
    n, input_channels, height, width = input_shape
    channels, group_size = grad.shape[1], grad.shape[2]
    some = bool(grad.numel() and n * height * width)
    result = _result(grad, (n, height, width, input_channels), torch.float32, some)
    if some:
        g, r = _nhwc(grad, _type(grad, half=False)), _packed(rois, torch.float32)
        context_of(g).call(
            _entries.psroipool_backward,
            *(group_size, group_size, spatial_scale, channels),
            *(g, r, mapping.contiguous(), result),
        )
    return _nchw(result, grad, follows_channels_last(grad))


def roiaware_pool3d(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: List[int],
    max_pts_each_voxel: int,
    pool_method: int,
) -> Tuple[Tensor, Tensor, Tensor]:
    dtype = _type(pts_feature, rois, pts)
    boxes, (points, channels) = rois.shape[0], pts_feature.shape
    some = bool(rois.numel() and pts_feature.numel())
    grid = (boxes, *out_size)
    pooled = _result(pts_feature, (*grid, channels), dtype, some)
    argmax = _result(pts_feature, (*grid, channels), torch.int32, some)
    indices = _result(pts_feature, (*grid, max_pts_each_voxel), torch.int32, some)
    if some:
        inputs = [_packed(tensor, dtype) for tensor in (rois, pts, pts_feature)]
        context = context_of(pooled)
        workspace = _Workspace(pooled, _entries.roiaware_pool3d_forward_size, *inputs)
        context.call(
            _entries.roiaware_pool3d_forward,
            *(pool_method, boxes, points, channels, *inputs, *workspace.pair),
            *(max_pts_each_voxel, *out_size, argmax, indices, pooled),
        )
    elif pool_method == 0:
        argmax.fill_(-1)
    return pooled.to(pts_feature.dtype), argmax, indices


def roiaware_pool3d_backward(
    grad: Tensor, argmax: Tensor, indices: Tensor, pool_method: int, pts_num: int
) -> Tensor:
    g = _packed(grad, _type(grad))
    some = bool(g.numel() and pts_num)
    result = _result(g, (pts_num, g.shape[4]), g.dtype, some)
    if some:
        context_of(g).call(
            _entries.roiaware_pool3d_backward,
            *(pool_method, *g.shape, indices.shape[4]),
            *(indices.contiguous(), argmax.contiguous(), g, result),
        )
    return result.to(grad.dtype)


def masked_im2col(
    input: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, kernel: List[int], padding: List[int]
) -> Tensor:
    x = _packed(input, _type(input))
    at = _indices(mask_h_idx, mask_w_idx)
    columns = empty(x, (x.shape[1] * kernel[0] * kernel[1], at[0].shape[0]))
    workspace = _Workspace(x, _entries.masked_im2col_forward_size, x, *at, *kernel, columns)
    context_of(x).call(
        _entries.masked_im2col_forward, x, *at, *kernel, *padding, *workspace.pair, columns
    )
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
    some = bool(g.numel())
    result = _result(g, (1, g.shape[0] // (kernel[0] * kernel[1]), height, width), g.dtype, some)
    if some:
        no_workspace = _entries.NO_WORKSPACE
        context_of(g).call(
            _entries.masked_im2col_backward, g, *at, *kernel, *padding, *no_workspace, result
        )
    return result.to(grad.dtype)


def masked_col2im(
    col: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, height: int, width: int
) -> Tensor:
    columns = _packed(col, _type(col))
    at = _indices(mask_h_idx, mask_w_idx)
    im = empty(columns, (1, columns.shape[0], height, width))
    workspace = _Workspace(columns, _entries.masked_col2im_forward_size, columns, *at, im)
    pointer, size = workspace.pair
    context_of(columns).call(_entries.masked_col2im_forward, columns, *at, size, pointer, im)
    return im.to(col.dtype)


def masked_col2im_backward(grad: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor) -> Tensor:
    g = _packed(grad, _type(grad))
    at = _indices(mask_h_idx, mask_w_idx)
    col = empty(g, (g.shape[1], at[0].shape[0]))
    context_of(g).call(_entries.masked_col2im_backward, g, *at, col)
    return col.to(grad.dtype)
