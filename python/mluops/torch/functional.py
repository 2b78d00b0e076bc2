# SPDX-License-Identifier: Apache-2.0
"""The operators as functions, with the names, arguments and layouts of mmcv and torchvision."""

from __future__ import annotations

from typing import Iterable, List, Sequence, Union

import torch
import torch.fx
from torch import Tensor
from torch.jit.annotations import BroadcastingList2

from . import _register  # noqa: F401  (torch.ops.mluops)
from .masked_conv import masked_conv2d, pair

__all__ = ["border_align", "masked_conv2d", "ps_roi_pool", "psa_mask", "roiaware_pool3d"]

_POOL_METHODS = {"max": 0, "avg": 1}


def border_align(input: Tensor, boxes: Tensor, pool_size: int) -> Tensor:
    """Border align of BorderDet: the maximum of pool_size+1 samples along each border of a box.

    input: [N, 4*C, H, W], a block of C channels per border (top, left, bottom, right).
    boxes: [N, K, 4] = x1, y1, x2, y2 in pixels of the map. Returns [N, C, K, 4].
    Drop-in for `mmcv.ops.border_align`.

    >>> input = torch.arange(9.0).view(1, 1, 3, 3).repeat(1, 4, 1, 1)
    >>> border_align(input, torch.tensor([[[0.0, 0.0, 2.0, 2.0]]]), 2)
    tensor([[[[2., 6., 8., 8.]]]])
    """
    assert boxes.ndim == 3, "boxes must be with shape [B, H*W, 4]"
    assert boxes.size(2) == 4, "the last dimension of boxes must be (x1, y1, x2, y2)"
    assert input.size(1) % 4 == 0, "the channel for input feature must be divisible by factor 4"
    return torch.ops.mluops.border_align(input, boxes, pool_size)[0]


def psa_mask(input: Tensor, psa_type: int, mask_size: Union[int, Sequence[int]]) -> Tensor:
    """Point-wise spatial attention mask of PSANet.

    input: [N, h_mask*w_mask, H, W]; psa_type 0 (collect) or 1 (distribute); mask_size:
    (h_mask, w_mask) or one number. Returns [N, H*W, H, W]. Drop-in for `mmcv.ops.psa_mask`.

    >>> psa_mask(torch.tensor([0.0, 1, 2]).view(1, 3, 1, 1).repeat(1, 1, 1, 2), 0, (1, 3))[0, :, 0]
    tensor([[1., 0.],
            [2., 1.]])
    """
    h_mask, w_mask = pair(mask_size)
    assert input.size(1) == h_mask * w_mask
    return torch.ops.mluops.psa_mask(input, int(psa_type), h_mask, w_mask)


def _boxes_as_rois(boxes: Union[Tensor, List[Tensor]]) -> Tensor:
    if isinstance(boxes, Tensor):
        assert boxes.size(1) == 5, "The boxes tensor shape is not correct as Tensor[K, 5]"
        return boxes
    if not torch.jit.is_scripting():
        assert isinstance(boxes, (list, tuple)), (
            "boxes is expected to be a Tensor[L, 5] or a List[Tensor[K, 4]]"
        )
    for image in boxes:
        assert image.size(1) == 4, (
            "The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]"
        )
    # In float32: half cannot represent all batch indices above 2048.
    corners = torch.cat([image.float() for image in boxes])
    batch = [torch.full_like(image[:, :1].float(), index) for index, image in enumerate(boxes)]
    return torch.cat([torch.cat(batch), corners], dim=1)


# As in torchvision: one node for torch.fx, and torch.jit.script can compile it. The latter needs
# the BroadcastingList2 annotation (a number or a pair) and f-strings without !r.
@torch.fx.wrap
def ps_roi_pool(
    input: Tensor,
    boxes: Union[Tensor, List[Tensor]],
    output_size: BroadcastingList2[int],
    spatial_scale: float = 1.0,
    semantics: str = "torchvision",
) -> Tensor:
    """Position-sensitive average pooling: each bin of a box reads its own channels.

    input: [N, C*height*width, H, W]; boxes: [R, 5] = batch, x1, y1, x2, y2, or a [L, 4] per image;
    output_size: (height, width) or one number. Returns [R, C, height, width].
    semantics "torchvision": drop-in for `torchvision.ops.ps_roi_pool`. Forward is bitwise equal to
    torchvision's on the CPU; the gradient matches forward. "rfcn": the operator of R-FCN and
    MLU-OPS. It rounds coordinates before scaling, includes the last pixel, clips at the edge of the
    map, and requires a square output_size.

    >>> input = torch.arange(16.0).view(1, 4, 2, 2)
    >>> rois = torch.tensor([[0.0, 0, 0, 1, 1]])
    >>> ps_roi_pool(input, rois, 2, semantics="rfcn")
    tensor([[[[ 0.,  5.],
              [10., 15.]]]])
    """
    rois = _boxes_as_rois(boxes)
    if torch.jit.is_scripting():
        height, width = output_size[0], output_size[1]
    else:
        height, width = pair(output_size)
    if semantics == "torchvision":
        return torch.ops.mluops.ps_roi_pool(input, rois, float(spatial_scale), height, width)
    if semantics != "rfcn":
        raise ValueError(
            f'ps_roi_pool: semantics must be "torchvision" or "rfcn", got "{semantics}"'
        )
    if height != width:
        raise ValueError(
            f"ps_roi_pool: output_size must be square with semantics rfcn, got {height} x {width}"
        )
    return torch.ops.mluops.rfcn_ps_roi_pool(input, rois, float(spatial_scale), height)[0]


def roiaware_pool3d(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: Union[int, Sequence[int]],
    max_pts_per_voxel: int = 128,
    mode: Union[int, str] = "max",
    box_origin: str = "bottom",
) -> Tensor:
    """Pools the points inside each rotated box into a grid of voxels (PartA2).

    rois: [B, 7] = x, y, z, dx, dy, dz, yaw; pts: [P, 3]; pts_feature: [P, C]; out_size:
    (x, y, z) or one number; mode "max" or "avg" (0 or 1). Returns [B, out_x, out_y, out_z, C].
    box_origin "bottom": z is that of the bottom face, as in mmcv; "center": that of the centre, as
    in OpenPCDet. At most max_pts_per_voxel-1 points of a voxel are pooled.

    >>> pts = torch.tensor([[0.5, 0.5, 0.5], [-0.5, 0.5, 0.5]])
    >>> rois = torch.tensor([[0.0, 0, 0, 2, 2, 1, 0]])
    >>> roiaware_pool3d(rois, pts, torch.tensor([[7.0], [8.0]]), (2, 1, 1)).flatten()
    tensor([8., 7.])
    """
    sizes = out_size if isinstance(out_size, Iterable) else (out_size,) * 3
    out_size = [int(size) for size in sizes]
    assert len(out_size) == 3
    method = _POOL_METHODS.get(mode, mode) if isinstance(mode, str) else mode
    if method not in (0, 1):
        raise ValueError(f'roiaware_pool3d: mode must be "max" or "avg", got {mode!r}')
    if box_origin == "center":
        bottom = rois[:, 2:3] - rois[:, 5:6] / 2
        rois = torch.cat([rois[:, :2], bottom, rois[:, 3:]], dim=1)
    elif box_origin != "bottom":
        raise ValueError(
            f'roiaware_pool3d: box_origin must be "bottom" or "center", got {box_origin!r}'
        )
    return torch.ops.mluops.roiaware_pool3d(
        rois, pts, pts_feature, out_size, max_pts_per_voxel, method
    )[0]
