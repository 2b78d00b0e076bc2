# SPDX-License-Identifier: Apache-2.0
"""The types of psroipool.py; `_types` explains the overloads."""

from typing import Any, Optional, Sequence, Tuple, overload

import numpy as np
from numpy.typing import NDArray

from ._device import DeviceArray
from ._types import Array, F, Input, OnDevice, Output

@overload
def psroipool_forward(
    input: NDArray[F],
    rois: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    group_size: int,
    output_dim: int,
    *,
    output: Optional[NDArray[F]] = ...,
    mapping_channel: Optional[NDArray[np.int32]] = ...,
    workspace: Optional[NDArray[Any]] = ...,
) -> Tuple[NDArray[F], NDArray[np.int32]]: ...
@overload
def psroipool_forward(
    input: DeviceArray,
    rois: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    group_size: int,
    output_dim: int,
    *,
    output: Optional[OnDevice] = ...,
    mapping_channel: Optional[OnDevice] = ...,
    workspace: Optional[OnDevice] = ...,
) -> Tuple[DeviceArray, DeviceArray]: ...
@overload
def psroipool_forward(
    input: Input,
    rois: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    group_size: int,
    output_dim: int,
    *,
    output: Optional[Output] = ...,
    mapping_channel: Optional[Output] = ...,
    workspace: Optional[Output] = ...,
) -> Tuple[Array, Array]: ...
@overload
def psroipool_backward(
    top_grad: NDArray[F],
    rois: Input,
    mapping_channel: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    output_dim: int,
    input_shape: Sequence[int],
    *,
    bottom_grad: Optional[NDArray[F]] = ...,
) -> NDArray[F]: ...
@overload
def psroipool_backward(
    top_grad: DeviceArray,
    rois: Input,
    mapping_channel: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    output_dim: int,
    input_shape: Sequence[int],
    *,
    bottom_grad: Optional[OnDevice] = ...,
) -> DeviceArray: ...
@overload
def psroipool_backward(
    top_grad: Input,
    rois: Input,
    mapping_channel: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    output_dim: int,
    input_shape: Sequence[int],
    *,
    bottom_grad: Optional[Output] = ...,
) -> Array: ...
def psroipool_forward_workspace_size(
    input: Input, rois: Input, pooled_height: int, pooled_width: int, output_dim: int
) -> int: ...
