# SPDX-License-Identifier: Apache-2.0
"""Finds the points that are inside rotated boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._table import Table
from ._arrays import Array, as_input, as_output, current

_FIRST = Table("points_in_boxes")
_ALL = Table("points_in_boxes_all")


def points_in_boxes(points: Any, boxes: Any, *, points_indices: Array | None = None) -> Array:
    """Returns the index of the first box that contains each point, or -1.

    points: [B, M, 3]; boxes: [B, T, 7] = x and y of the centre, z of the bottom, dx, dy, dz, yaw;
    points_indices: int32 [B, M].

    >>> box = np.array([[[0, 0, 0, 2, 2, 2, 0]]], np.float32)
    >>> points_in_boxes(np.array([[[0, 0, 1], [0, 0, -1]]], np.float32), box)
    array([[ 0, -1]], dtype=int32)
    """
    points, boxes = as_input(points, 3, "points"), as_input(boxes, 3, "boxes")
    shape = points.shape[:2]
    points_indices = as_output(points_indices, shape, points, "points_indices", np.int32)
    current(points).call(_FIRST, (), (points, boxes, points_indices))
    return points_indices


def points_in_boxes_all(points: Any, boxes: Any, *, inside: Array | None = None) -> Array:
    """Tests every pair of a point and a box. points and boxes: as in `points_in_boxes`; inside:
    int32 [B, M, T], 1 where the point is in the box.

    >>> box = np.array([[[0, 0, 0, 2, 2, 2, 0]]], np.float32)
    >>> points_in_boxes_all(np.array([[[0, 0, 1], [0, 0, -1]]], np.float32), box)
    array([[[1],
            [0]]], dtype=int32)
    """
    points, boxes = as_input(points, 3, "points"), as_input(boxes, 3, "boxes")
    shape = (*points.shape[:2], boxes.shape[1])
    inside = as_output(inside, shape, points, "inside", np.int32)
    current(points).call(_ALL, (), (points, boxes, inside))
    return inside
