# SPDX-License-Identifier: Apache-2.0
"""The operators of `pcdet.ops.roiaware_pool3d.roiaware_pool3d_utils` (OpenPCDet), with its names,
signatures and boxes: x, y, z of the centre, dx, dy, dz, yaw. `mluops.compat.pcdet.install()`
replaces them in OpenPCDet, or creates the module if OpenPCDet is not installed.

Differences: they run on the CPU and on CUDA, and the box test has no margin. OpenPCDet widens boxes
by 1e-5 on the GPU and 1e-2 on the CPU in x and y.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Dict, Sequence, Tuple, Union

import numpy as np
import torch
from torch import Tensor, nn

from ..torch import roiaware_pool3d
from ..torch._arguments import integer, sizes
from ..torch.roiaware_pool3d import with_bottom
from ._install import Report, list_left, make, put, rebind
from ._points_in_boxes import points_in_boxes_all, points_in_boxes_part

__all__ = ["Report", "RoIAwarePool3d", "install", "points_in_boxes_cpu", "points_in_boxes_gpu"]

_MODULE = "pcdet.ops.roiaware_pool3d.roiaware_pool3d_utils"


class RoIAwarePool3d(nn.Module):
    """Pools the points inside each box into a grid of voxels.

    forward: rois [N, 7], pts [P, 3], pts_feature [P, C]; returns [N, out_x, out_y, out_z, C].

    >>> pool = RoIAwarePool3d(1, max_pts_each_voxel=4)
    >>> rois = torch.tensor([[0.0, 0, 0, 2, 2, 2, 0]])
    >>> pool(rois, torch.tensor([[0.0, 0, -0.5]]), torch.tensor([[3.0]]), pool_method="avg").item()
    3.0
    """

    def __init__(self, out_size: Union[int, Sequence[int]], max_pts_each_voxel: int = 128):
        super().__init__()
        sizes("RoIAwarePool3d", "out_size", out_size, 3)  # raises if it does not fit
        self.out_size = out_size
        count = integer("RoIAwarePool3d", "max_pts_each_voxel", max_pts_each_voxel)
        self.max_pts_each_voxel = count

    def forward(
        self, rois: Tensor, pts: Tensor, pts_feature: Tensor, pool_method: str = "max"
    ) -> Tensor:
        if pool_method not in ("max", "avg"):
            raise ValueError(  # torch.jit.script compiles no !r
                f'RoIAwarePool3d: pool_method must be "max" or "avg", got "{pool_method}"'
            )
        size, count = self.out_size, self.max_pts_each_voxel
        return roiaware_pool3d(rois, pts, pts_feature, size, count, pool_method, "center")

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__}(out_size={self.out_size}, "
            f"max_pts_each_voxel={self.max_pts_each_voxel})"
        )


def _from_numpy(function: str, name: str, value: np.ndarray) -> Tensor:
    """Copies arrays that torch refuses: negative strides, foreign byte order, read-only memory."""
    try:
        native = value.astype(value.dtype.newbyteorder("="), copy=False)
        return torch.from_numpy(np.require(native, requirements=["C", "W"]))
    except TypeError:
        raise TypeError(f"{function}: {name} must consist of numbers, got {value.dtype}") from None


def _as_tensor(
    function: str, name: str, value: Any, rank: int, columns: int
) -> Tuple[Tensor, bool]:
    is_numpy = isinstance(value, np.ndarray)
    if not is_numpy and not isinstance(value, Tensor):
        raise TypeError(
            f"{function}: {name} must be a torch.Tensor or a numpy.ndarray, got "
            f"{type(value).__name__}"
        )
    tensor = _from_numpy(function, name, value) if is_numpy else value
    if tensor.dim() != rank or tensor.shape[-1] != columns:
        shape = f"[{'B, ' * (rank - 2)}{'M' if columns == 3 else 'T'}, {columns}]"
        raise ValueError(f"{function}: {name} must have shape {shape}, got {list(tensor.shape)}")
    return tensor, is_numpy


def _from_integers(x: Tensor) -> Tensor:
    """Converts integers as OpenPCDet does, with float()."""
    return x if x.is_floating_point() or x.is_complex() else x.float()


def points_in_boxes_cpu(
    points: Union[Tensor, np.ndarray], boxes: Union[Tensor, np.ndarray]
) -> Union[Tensor, np.ndarray]:
    """points: [M, 3]; boxes: [T, 7]; of any real type. Returns int32 [T, M], 1 where the point is
    in the box; a NumPy array for NumPy arrays.

    >>> box = torch.tensor([[0.0, 0, 1, 2, 2, 2, 0]])
    >>> points_in_boxes_cpu(torch.tensor([[0.0, 0, 1], [0, 0, -1]]), box)
    tensor([[1, 0]], dtype=torch.int32)
    """
    name = "points_in_boxes_cpu"
    points, _ = _as_tensor(name, "points", points, 2, 3)
    boxes, is_numpy = _as_tensor(name, "boxes", boxes, 2, 7)
    points, boxes = _from_integers(points), _from_integers(boxes)
    result = points_in_boxes_all(points[None], with_bottom(boxes)[None])
    result = result[0].t().contiguous()
    return result.numpy() if is_numpy else result


def points_in_boxes_gpu(points: Tensor, boxes: Tensor) -> Tensor:
    """points: [B, M, 3]; boxes: [B, T, 7]. Returns int32 [B, M]: the index of the first box that
    contains the point, or -1. Runs on the device of its arguments.

    >>> box = torch.tensor([[[0.0, 0, 1, 2, 2, 2, 0]]])
    >>> points_in_boxes_gpu(torch.tensor([[[0.0, 0, 1], [0, 0, -1]]]), box)
    tensor([[ 0, -1]], dtype=torch.int32)
    """
    name = "points_in_boxes_gpu"
    points, _ = _as_tensor(name, "points", points, 3, 3)
    boxes, _ = _as_tensor(name, "boxes", boxes, 3, 7)
    points, boxes = _from_integers(points), _from_integers(boxes)
    if points.shape[0] != boxes.shape[0]:
        raise ValueError(
            f"{name}: boxes.shape[0] must be points.shape[0] = {points.shape[0]}, got "
            f"{boxes.shape[0]}"
        )
    return points_in_boxes_part(points, with_bottom(boxes))


def install() -> Report:
    """Replaces OpenPCDet's operators and returns the changes. A second call has no effect."""
    report = Report()
    originals: Dict[int, Any] = {}
    try:
        module = importlib.import_module(_MODULE)
    except ImportError:  # OpenPCDet is absent, or its binary
        name = ""
        for part in _MODULE.split("."):
            name = f"{name}.{part}".lstrip(".")
            if name not in sys.modules:
                make(name, report, package=name != _MODULE)
        module = sys.modules[_MODULE]
    for name in ("RoIAwarePool3d", "points_in_boxes_cpu", "points_in_boxes_gpu"):
        put(module, name, globals()[name], report, originals)
    rebind(report, originals)
    list_left(report, originals)
    return report
