# SPDX-License-Identifier: Apache-2.0
"""The types of roiaware_pool3d.py; `_types` explains the overloads."""

from typing import Any, Optional, Tuple, overload

import numpy as np
from numpy.typing import NDArray

from ._device import DeviceArray
from ._types import Array, F, Input, OnDevice, Output

@overload
def roiaware_pool3d_forward(
    rois: Input,
    pts: Input,
    pts_feature: NDArray[F],
    pool_method: int,
    max_pts_each_voxel: int,
    out_x: int,
    out_y: int,
    out_z: int,
    *,
    argmax: Optional[NDArray[np.int32]] = ...,
    pts_idx_of_voxels: Optional[NDArray[np.int32]] = ...,
    pooled_features: Optional[NDArray[F]] = ...,
    workspace: Optional[NDArray[Any]] = ...,
) -> Tuple[NDArray[F], NDArray[np.int32], NDArray[np.int32]]: ...
@overload
def roiaware_pool3d_forward(
    rois: Input,
    pts: Input,
    pts_feature: DeviceArray,
    pool_method: int,
    max_pts_each_voxel: int,
    out_x: int,
    out_y: int,
    out_z: int,
    *,
    argmax: Optional[OnDevice] = ...,
    pts_idx_of_voxels: Optional[OnDevice] = ...,
    pooled_features: Optional[OnDevice] = ...,
    workspace: Optional[OnDevice] = ...,
) -> Tuple[DeviceArray, DeviceArray, DeviceArray]: ...
@overload
def roiaware_pool3d_forward(
    rois: Input,
    pts: Input,
    pts_feature: Input,
    pool_method: int,
    max_pts_each_voxel: int,
    out_x: int,
    out_y: int,
    out_z: int,
    *,
    argmax: Optional[Output] = ...,
    pts_idx_of_voxels: Optional[Output] = ...,
    pooled_features: Optional[Output] = ...,
    workspace: Optional[Output] = ...,
) -> Tuple[Array, Array, Array]: ...
@overload
def roiaware_pool3d_backward(
    pts_idx_of_voxels: Input,
    argmax: Optional[Input],
    grad_out: NDArray[F],
    pool_method: int,
    pts_num: int,
    *,
    grad_in: Optional[NDArray[F]] = ...,
) -> NDArray[F]: ...
@overload
def roiaware_pool3d_backward(
    pts_idx_of_voxels: Input,
    argmax: Optional[Input],
    grad_out: DeviceArray,
    pool_method: int,
    pts_num: int,
    *,
    grad_in: Optional[OnDevice] = ...,
) -> DeviceArray: ...
@overload
def roiaware_pool3d_backward(
    pts_idx_of_voxels: Input,
    argmax: Optional[Input],
    grad_out: Input,
    pool_method: int,
    pts_num: int,
    *,
    grad_in: Optional[Output] = ...,
) -> Array: ...
def roiaware_pool3d_forward_workspace_size(rois: Input, pts: Input, pts_feature: Input) -> int: ...
