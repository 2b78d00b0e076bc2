# SPDX-License-Identifier: Apache-2.0
"""Tests which points are in which boxes, with torch operators. Programs import these functions from
`mmcv.ops` together with RoIAwarePool3d. Used only if mluops creates `mmcv.ops`."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["points_in_boxes_all", "points_in_boxes_cpu", "points_in_boxes_part"]


def points_in_boxes_all(points: Tensor, boxes: Tensor) -> Tensor:
    """points: [B, M, 3]; boxes: [B, T, 7] = x, y, z of the bottom, dx, dy, dz, yaw.
    Returns int32 [B, M, T], 1 where the point is in the box.

    >>> box = torch.tensor([[[0.0, 0, 0, 2, 2, 2, 0]]])
    >>> points_in_boxes_all(torch.tensor([[[0.0, 0, 1], [0, 0, -1]]]), box).flatten()
    tensor([1, 0], dtype=torch.int32)
    """
    if points.dim() != 3 or points.shape[2] != 3:
        raise ValueError(f"points_in_boxes: points must be [B, M, 3], got {list(points.shape)}")
    if boxes.dim() != 3 or boxes.shape[2] != 7 or boxes.shape[0] != points.shape[0]:
        raise ValueError(
            f"points_in_boxes: boxes must be [{points.shape[0]}, T, 7], got {list(boxes.shape)}"
        )
    x, y, z = (points[:, :, None] - boxes[:, None, :, :3]).unbind(-1)
    dx, dy, dz, yaw = boxes[:, None, :, 3:].unbind(-1)
    along = x * yaw.cos() + y * yaw.sin()
    across = y * yaw.cos() - x * yaw.sin()
    inside = (along.abs() < dx / 2) & (across.abs() < dy / 2) & ((z - dz / 2).abs() <= dz / 2)
    return inside.to(torch.int32)


def points_in_boxes_cpu(points: Tensor, boxes: Tensor) -> Tensor:
    """mmcv's other name of `points_in_boxes_all`."""
    return points_in_boxes_all(points, boxes)


def points_in_boxes_part(points: Tensor, boxes: Tensor) -> Tensor:
    """Returns the index of the first box that contains each point, or -1: int32 [B, M]."""
    inside = points_in_boxes_all(points, boxes)
    none = inside.new_zeros((*inside.shape[:2], 1))
    first = torch.cat([none, inside], dim=2).argmax(dim=2) - 1
    return first.to(torch.int32)
