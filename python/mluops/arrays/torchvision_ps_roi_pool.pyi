# SPDX-License-Identifier: Apache-2.0
"""The types of torchvision_ps_roi_pool.py; `_types` explains the overloads."""

from typing import Optional, Sequence, overload

from numpy.typing import NDArray

from ._device import DeviceArray
from ._types import Array, F, Input, OnDevice, Output

@overload
def torchvision_ps_roi_pool_forward(
    input: NDArray[F],
    rois: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    *,
    output: Optional[NDArray[F]] = ...,
) -> NDArray[F]: ...
@overload
def torchvision_ps_roi_pool_forward(
    input: DeviceArray,
    rois: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    *,
    output: Optional[OnDevice] = ...,
) -> DeviceArray: ...
@overload
def torchvision_ps_roi_pool_forward(
    input: Input,
    rois: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    *,
    output: Optional[Output] = ...,
) -> Array: ...
@overload
def torchvision_ps_roi_pool_backward(
    grad_output: NDArray[F],
    rois: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    input_shape: Sequence[int],
    *,
    grad_input: Optional[NDArray[F]] = ...,
) -> NDArray[F]: ...
@overload
def torchvision_ps_roi_pool_backward(
    grad_output: DeviceArray,
    rois: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    input_shape: Sequence[int],
    *,
    grad_input: Optional[OnDevice] = ...,
) -> DeviceArray: ...
@overload
def torchvision_ps_roi_pool_backward(
    grad_output: Input,
    rois: Input,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    input_shape: Sequence[int],
    *,
    grad_input: Optional[Output] = ...,
) -> Array: ...
