# SPDX-License-Identifier: Apache-2.0
"""The types of masked_conv2d.py; `_types` explains the overloads."""

from typing import Optional, overload

from numpy.typing import NDArray

from ._device import DeviceArray
from ._types import Array, F, Input, OnDevice, Output

@overload
def masked_conv2d_forward(
    features: NDArray[F],
    mask: Input,
    weight: Input,
    bias: Input,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    *,
    output: Optional[NDArray[F]] = ...,
) -> NDArray[F]: ...
@overload
def masked_conv2d_forward(
    features: DeviceArray,
    mask: Input,
    weight: Input,
    bias: Input,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    *,
    output: Optional[OnDevice] = ...,
) -> DeviceArray: ...
@overload
def masked_conv2d_forward(
    features: Input,
    mask: Input,
    weight: Input,
    bias: Input,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    *,
    output: Optional[Output] = ...,
) -> Array: ...
