# SPDX-License-Identifier: Apache-2.0
"""A small network with all five families, and batches for it."""

from typing import Dict

import torch
from mluops.torch import PSAMask, PSRoIPool, RoIAwarePool3d, border_align
from torch import Tensor, nn

OPERATORS = [  # that the network calls, under torch.ops.mluops
    "border_align",
    "masked_im2col",
    "ps_roi_pool",
    "psa_mask",
    "rfcn_ps_roi_pool",
    "roiaware_pool3d",
]


class Network(nn.Module):
    """Features of an 8x8 image go through each family; the result is one number."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Conv2d(3, 12, 3, padding=1)
        self.attention = nn.Conv2d(12, 15 * 15, 1)
        self.psa_mask = PSAMask("collect", (15, 15))
        self.masked = nn.Linear(12 * 9, 12)
        self.pool = PSRoIPool(2, 0.5)
        self.rfcn_pool = PSRoIPool(2, 0.5, semantics="rfcn")
        self.points = nn.Linear(3, 4)
        self.voxels = RoIAwarePool3d(2, 16, "avg")
        self.head = nn.Linear(12 * 64 + 3 + 3 + 12 + 3 + 4, 1)

    def forward(
        self,
        image: Tensor,
        rois: Tensor,
        boxes: Tensor,
        rows: Tensor,
        columns: Tensor,
        pts: Tensor,
        cars: Tensor,
    ) -> Tensor:
        x = torch.relu(self.stem(image))
        n = x.shape[0]
        weights = torch.softmax(self.psa_mask(self.attention(x)), dim=1)  # [N, H*W, H, W]
        attended = torch.bmm(x.flatten(2), weights.flatten(2))
        windows = torch.ops.mluops.masked_im2col(x[:1], rows, columns, [3, 3], [1, 1])
        parts = [
            attended.reshape(n, -1),
            self.pool(x, rois).mean((2, 3)),
            self.rfcn_pool(x, rois).mean((2, 3)),
            self.masked(windows.t()).mean(0, keepdim=True).expand(n, -1),
            border_align(x, boxes, 4).mean((2, 3)),
            self.voxels(cars, pts, self.points(pts)).mean((1, 2, 3)),
        ]
        return self.head(torch.cat(parts, dim=1)).pow(2).mean()


def batch(images: int, seed: int = 0) -> Dict[str, Tensor]:
    """One RoI and one car per image."""
    generator = torch.Generator().manual_seed(seed)

    def rand(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator)

    corners = rand(images, 2, 2) * 14
    rois = torch.cat([torch.arange(images)[:, None].float(), corners.amin(1), corners.amax(1)], 1)
    corners = rand(images, 5, 2, 2) * 8
    cars = torch.cat([rand(images, 3) - 1, rand(images, 3) + 1, rand(images, 1)], dim=1)
    return {
        "image": rand(images, 3, 8, 8),
        "rois": rois,
        "boxes": torch.cat([corners.amin(2), corners.amax(2)], dim=2),
        "rows": torch.tensor([0, 3, 7]),
        "columns": torch.tensor([7, 3, 0]),
        "pts": rand(50, 3) * 2 - 1,
        "cars": cars,
    }
