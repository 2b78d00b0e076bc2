# SPDX-License-Identifier: Apache-2.0
"""Tests which points are in which boxes, with mmcv's names. Programs import these functions from
`mmcv.ops` together with RoIAwarePool3d. Used if mluops creates `mmcv.ops`."""

from __future__ import annotations

from torch import Tensor

from ..torch import points_in_boxes, points_in_boxes_all

__all__ = ["points_in_boxes_all", "points_in_boxes_cpu", "points_in_boxes_part"]


def points_in_boxes_cpu(points: Tensor, boxes: Tensor) -> Tensor:
    """mmcv's other name of `points_in_boxes_all`."""
    return points_in_boxes_all(points, boxes)


def points_in_boxes_part(points: Tensor, boxes: Tensor) -> Tensor:
    """mmcv's name of `points_in_boxes`."""
    return points_in_boxes(points, boxes)
