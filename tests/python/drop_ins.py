# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the drop-ins."""

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
