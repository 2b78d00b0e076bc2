# SPDX-License-Identifier: Apache-2.0
"""RoI-aware pooling of PartA2: pools points into the voxels of boxes."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np

from .._table import Table
from ._arrays import Array, as_input, as_output, count_of, current, space

_FORWARD = Table("roiaware_pool3d_forward")
_FORWARD_SIZE = Table("roiaware_pool3d_forward_workspace")
_BACKWARD = Table("roiaware_pool3d_backward")


def roiaware_pool3d_forward(
    rois: Any,
    pts: Any,
    pts_feature: Any,
    pool_method: int,
    max_pts_each_voxel: int,
    out_x: int,
    out_y: int,
    out_z: int,
    *,
    argmax: Array | None = None,
    pts_idx_of_voxels: Array | None = None,
    pooled_features: Array | None = None,
    workspace: Array | None = None,
) -> Tuple[Array, Array, Array]:
    """Pools the points inside each rotated box into a grid of voxels.

    rois: [B, 7] = centre x, y, bottom z, dx, dy, dz, yaw; pts: [P, 3]; pts_feature:
    [P, C]; pool_method 0 (max) or 1 (average). Returns pooled_features and argmax (int32), both
    [B, out_x, out_y, out_z, C], and pts_idx_of_voxels [B, out_x, out_y, out_z,
    max_pts_each_voxel] (int32): a count, then that many point indices.

    >>> pts = np.array([[0.5, 0.5, 0.5], [-0.5, 0.5, 0.5]], np.float32)
    >>> pooled, argmax, indices = roiaware_pool3d_forward(
    ...     np.array([[0, 0, 0, 2, 2, 1, 0]], np.float32), pts, np.array([[7], [8]], np.float32),
    ...     0, 4, 2, 1, 1)
    >>> pooled.ravel(), argmax.ravel(), indices[0, 0, 0, 0]
    (array([8., 7.], dtype=float32), array([1, 0], dtype=int32), array([1, 1, 0, 0], dtype=int32))
    """
    rois, pts = as_input(rois, 2, "rois"), as_input(pts, 2, "pts")
    pts_feature = as_input(pts_feature, 2, "pts_feature")
    for name, size in zip(("out_x", "out_y", "out_z"), (out_x, out_y, out_z)):
        count_of(size, name)
    boxes, channels, out_size = rois.shape[0], pts_feature.shape[1], (out_x, out_y, out_z)
    values, slots = (boxes, *out_size, channels), (boxes, *out_size, max_pts_each_voxel)
    argmax = as_output(argmax, values, pts_feature, "argmax", np.int32)
    pts_idx_of_voxels = as_output(
        pts_idx_of_voxels, slots, pts_feature, "pts_idx_of_voxels", np.int32
    )
    pooled_features = as_output(pooled_features, values, pts_feature, "pooled_features")
    current(pts_feature).call(
        _FORWARD,
        (pool_method, boxes, pts.shape[0], channels, max_pts_each_voxel, *out_size),
        (rois, pts, pts_feature, argmax, pts_idx_of_voxels, pooled_features),
        space(workspace, pts_feature),
    )
    return pooled_features, argmax, pts_idx_of_voxels


def roiaware_pool3d_backward(
    pts_idx_of_voxels: Any,
    argmax: Any,
    grad_out: Any,
    pool_method: int,
    pts_num: int,
    *,
    grad_in: Array | None = None,
) -> Array:
    """The gradient of `roiaware_pool3d_forward` with respect to the features: [pts_num, C].

    `argmax` may be None if pool_method is 1 (average).

    >>> indices = np.array([2, 0, 1], np.int32).reshape(1, 1, 1, 1, 3)
    >>> roiaware_pool3d_backward(indices, None, np.full((1, 1, 1, 1, 1), 4, np.float32), 1, 2)
    array([[2.],
           [2.]], dtype=float32)
    """
    pts_idx_of_voxels = as_input(pts_idx_of_voxels, 5, "pts_idx_of_voxels")
    argmax = None if argmax is None else as_input(argmax, 5, "argmax")
    grad_out = as_input(grad_out, 5, "grad_out")
    grad_in = as_output(grad_in, (pts_num, grad_out.shape[4]), grad_out, "grad_in")
    current(grad_out).call(
        _BACKWARD,
        (pool_method, *grad_out.shape, pts_idx_of_voxels.shape[4]),
        (pts_idx_of_voxels, argmax, grad_out, grad_in),
    )
    return grad_in


def roiaware_pool3d_forward_workspace_size(rois: Any, pts: Any, pts_feature: Any) -> int:
    """Returns the workspace size in bytes with which `roiaware_pool3d_forward` needs no scratch."""
    rois, pts = as_input(rois, 2, "rois"), as_input(pts, 2, "pts")
    pts_feature = as_input(pts_feature, 2, "pts_feature")
    return current(pts_feature).size(_FORWARD_SIZE, (), (rois, pts, pts_feature))
