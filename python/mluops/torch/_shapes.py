# SPDX-License-Identifier: Apache-2.0
"""Meta functions: the shape, type and memory format of each operator's outputs, for torch.compile,
torch.export and the meta device. Names and arguments are the same as in _kernels."""

from __future__ import annotations

from typing import List, Tuple

import torch
from torch import Tensor

from ._kernels import follows_channels_last


def _like(features: Tensor, n: int, channels: int, height: int, width: int) -> Tensor:
    if follows_channels_last(features):
        return features.new_empty((n, height, width, channels)).permute(0, 3, 1, 2)
    return features.new_empty((n, channels, height, width))


def psa_mask(input: Tensor, psa_type: int, h_mask: int, w_mask: int) -> Tensor:
    n, _, height, width = input.shape
    return _like(input, n, height * width, height, width)


def psa_mask_backward(grad: Tensor, psa_type: int, h_mask: int, w_mask: int) -> Tensor:
    n, _, height, width = grad.shape
    return _like(grad, n, h_mask * w_mask, height, width)


def border_align(input: Tensor, boxes: Tensor, pool_size: int) -> Tuple[Tensor, Tensor]:
    n, channels, k = input.shape[0], input.shape[1] // 4, boxes.shape[1]
    return (
        _like(input, n, channels, k, 4),
        input.new_empty((n, k, 4, channels), dtype=torch.int32),
    )


def border_align_backward(
    grad: Tensor, boxes: Tensor, argmax: Tensor, pool_size: int, height: int, width: int
) -> Tensor:
    return _like(grad, grad.shape[0], 4 * grad.shape[1], height, width)


def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> Tensor:
    channels = input.shape[1] // (pooled_height * pooled_width)
    return input.new_empty((rois.shape[0], channels, pooled_height, pooled_width))


def ps_roi_pool_backward(
    grad: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    input_shape: List[int],
) -> Tensor:
    return grad.new_empty(tuple(input_shape))


def rfcn_ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, group_size: int
) -> Tuple[Tensor, Tensor]:
    channels, count = input.shape[1] // (group_size * group_size), rois.shape[0]
    return (
        _like(input, count, channels, group_size, group_size),
        input.new_empty((count, group_size, group_size, channels), dtype=torch.int32),
    )


def rfcn_ps_roi_pool_backward(
    grad: Tensor, rois: Tensor, mapping: Tensor, spatial_scale: float, input_shape: List[int]
) -> Tensor:
    return _like(grad, *input_shape)


def roiaware_pool3d(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: List[int],
    max_pts_each_voxel: int,
    pool_method: int,
) -> Tuple[Tensor, Tensor, Tensor]:
    grid, channels = (rois.shape[0], *out_size), pts_feature.shape[1]
    return (
        pts_feature.new_empty((*grid, channels)),
        pts_feature.new_empty((*grid, channels), dtype=torch.int32),
        pts_feature.new_empty((*grid, max_pts_each_voxel), dtype=torch.int32),
    )


def roiaware_pool3d_backward(
    grad: Tensor, argmax: Tensor, indices: Tensor, pool_method: int, pts_num: int
) -> Tensor:
    return grad.new_empty((pts_num, grad.shape[4]))


def masked_im2col(
    input: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, kernel: List[int], padding: List[int]
) -> Tensor:
    return input.new_empty((input.shape[1] * kernel[0] * kernel[1], mask_h_idx.shape[0]))


def masked_im2col_backward(
    grad: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    kernel: List[int],
    padding: List[int],
    height: int,
    width: int,
) -> Tensor:
    return grad.new_empty((1, grad.shape[0] // (kernel[0] * kernel[1]), height, width))


def masked_col2im(
    col: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, height: int, width: int
) -> Tensor:
    return col.new_empty((1, col.shape[0], height, width))


def masked_col2im_backward(grad: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor) -> Tensor:
    return grad.new_empty((grad.shape[1], mask_h_idx.shape[0]))
