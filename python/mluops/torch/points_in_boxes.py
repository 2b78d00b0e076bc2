# SPDX-License-Identifier: Apache-2.0
"""points_in_boxes: finds the points that are inside rotated boxes."""

from __future__ import annotations

import torch
from torch import Tensor

from .._table import Table
from ._arguments import require_tensors
from ._context import context_of
from ._operator import register_without_derivatives
from ._tensors import compute_type, meta_outputs, packed

_FIRST = Table("points_in_boxes", "points_in_boxes")
_ALL = Table("points_in_boxes_all", "points_in_boxes_all")


def _run(table: Table, points: Tensor, boxes: Tensor) -> Tensor:
    dtype = compute_type(table, points, boxes)
    x = packed(points, dtype)
    return context_of(x).run(table, (), (x, packed(boxes, dtype)))[0]


def _kernel(points: Tensor, boxes: Tensor) -> Tensor:
    result = _run(_FIRST, points, boxes)
    return result if boxes.numel() else result.fill_(-1)


def _kernel_all(points: Tensor, boxes: Tensor) -> Tensor:
    return _run(_ALL, points, boxes)


def _meta(points: Tensor, boxes: Tensor) -> Tensor:
    return meta_outputs(_FIRST, (), (points, boxes))[0]


def _meta_all(points: Tensor, boxes: Tensor) -> Tensor:
    return meta_outputs(_ALL, (), (points, boxes))[0]


register_without_derivatives(
    "points_in_boxes(Tensor points, Tensor boxes) -> Tensor", _kernel, _meta
)
register_without_derivatives(
    "points_in_boxes_all(Tensor points, Tensor boxes) -> Tensor", _kernel_all, _meta_all
)


def points_in_boxes(points: Tensor, boxes: Tensor) -> Tensor:
    """Returns the index of the first box that contains each point, or -1: int32 [B, M].

    points: [B, M, 3]; boxes: [B, T, 7] = x and y of the centre, z of the bottom, dx, dy, dz, yaw.

    >>> box = torch.tensor([[[0.0, 0, 0, 2, 2, 2, 0]]])
    >>> points_in_boxes(torch.tensor([[[0.0, 0, 1], [0, 0, -1]]]), box)
    tensor([[ 0, -1]], dtype=torch.int32)
    """
    if not torch.jit.is_scripting():
        require_tensors("points_in_boxes", points=points, boxes=boxes)
    return torch.ops.mluops.points_in_boxes(points, boxes)


def points_in_boxes_all(points: Tensor, boxes: Tensor) -> Tensor:
    """Returns int32 [B, M, T], 1 where the point is in the box. points and boxes: as in
    `points_in_boxes`.

    >>> box = torch.tensor([[[0.0, 0, 0, 2, 2, 2, 0]]])
    >>> points_in_boxes_all(torch.tensor([[[0.0, 0, 1], [0, 0, -1]]]), box).flatten()
    tensor([1, 0], dtype=torch.int32)
    """
    if not torch.jit.is_scripting():
        require_tensors("points_in_boxes_all", points=points, boxes=boxes)
    return torch.ops.mluops.points_in_boxes_all(points, boxes)
