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
