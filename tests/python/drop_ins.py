# SPDX-License-Identifier: Apache-2.0
"""A small call of every public function and module; most tests iterate over these."""

from typing import NamedTuple, Tuple

import mluops.torch as ours
import torch

MMCV_NAMES = [
    "BorderAlign",
    "MaskedConv2d",
    "PSAMask",
    "RoIAwarePool3d",
    "border_align",
    "masked_conv2d",
    "psa_mask",
]


def randn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def cars():
    boxes = torch.tensor(
        [[0.0, 0, -1, 3, 2, 2, 0.3], [1, 1, -2, 2, 2, 4, -1.2], [-1, 0.5, 0, 1, 3, 1, 2.0]]
    )
    points = torch.rand(60, 3, generator=torch.Generator().manual_seed(1)) * 4 - 2
    return boxes, points


class ModuleCall(NamedTuple):
    module: torch.nn.Module
    inputs: Tuple[torch.Tensor, ...]
    features: int = 0  # their index in the inputs


def module_calls():
    """Returns calls of every module. A key begins with the name under torch.ops.mluops."""
    boxes, points = cars()
    corners = torch.tensor([[0.0, 1, 4, 5], [2, 0, 3, 4]])
    rois = torch.tensor([[0.0, 0, 1, 4, 5], [0, 2, 2, 6, 4]])
    image, mask = randn(1, 3, 6, 5), (randn(1, 6, 5) > 0).float()
    windows = (randn(2, 15, 4, 6),)
    return {
        "border_align": ModuleCall(ours.BorderAlign(3), (randn(1, 8, 6, 7), corners[None])),
        "masked_conv2d": ModuleCall(ours.MaskedConv2d(3, 4, 3, padding=1), (image, mask)),
        "masked_conv2d without bias": ModuleCall(
            ours.MaskedConv2d(3, 4, 3, padding=1, bias=False), (image, mask)
        ),
        "ps_roi_pool": ModuleCall(ours.PSRoIPool((2, 3), 0.5), (randn(1, 12, 6, 7), rois)),
        "psa_mask": ModuleCall(ours.PSAMask("distribute", (3, 5)), windows),
        "psa_mask of one number": ModuleCall(ours.PSAMask("collect", 3), (randn(1, 9, 4, 4),)),
        "rfcn_ps_roi_pool": ModuleCall(
            ours.PSRoIPool(2, 0.5, semantics="rfcn"), (randn(1, 8, 6, 7), rois)
        ),
        "roiaware_pool3d": ModuleCall(
            ours.RoIAwarePool3d((2, 3, 1), 8, "avg"), (boxes, points, randn(60, 3)), 2
        ),
        "roiaware_pool3d of one number": ModuleCall(
            ours.RoIAwarePool3d(2, box_origin="center"), (boxes, points, randn(60, 3)), 2
        ),
    }


def function_calls():
    """Returns all arguments of a call of each public function, by the function's name."""
    boxes, points = cars()
    corners = torch.tensor([[0.0, 0, 2, 2], [1, 1, 3, 2]])
    rois = torch.cat([torch.zeros(2, 1), corners], dim=1)
    in_boxes = {"points": points[None], "boxes": boxes[None]}
    window = {"padding": (1, 1), "stride": (1, 1), "dilation": (1, 1), "groups": 1}
    return {
        "border_align": {"input": randn(1, 8, 4, 4), "boxes": corners[None], "pool_size": 3},
        "masked_conv2d": {
            "features": randn(1, 2, 4, 4),
            "mask": torch.eye(4)[None],
            "weight": randn(3, 2, 3, 3),
            "bias": randn(3),
            **window,
        },
        "points_in_boxes": in_boxes,
        "points_in_boxes_all": in_boxes,
        "ps_roi_pool": {
            "input": randn(1, 4, 4, 4),
            "boxes": rois,
            "output_size": (2, 2),
            "spatial_scale": 1.0,
            "semantics": "torchvision",
            "validate": False,
        },
        "psa_mask": {"input": randn(1, 9, 4, 4), "psa_type": 0, "mask_size": (3, 3)},
        "roiaware_pool3d": {
            "rois": boxes,
            "pts": points,
            "pts_feature": randn(60, 2),
            "out_size": (2, 2, 2),
            "max_pts_per_voxel": 8,
            "mode": "max",
            "box_origin": "bottom",
        },
    }
