# SPDX-License-Identifier: Apache-2.0
"""The types of border_align.py; `_types` explains the overloads."""

from typing import Optional, Tuple, overload

import numpy as np
from numpy.typing import NDArray

from ._device import DeviceArray
from ._types import Array, F, Input, OnDevice, Output

@overload
def border_align_forward(
    input: NDArray[F],
    boxes: Input,
    pool_size: int,
    *,
    output: Optional[NDArray[F]] = ...,
    argmax_idx: Optional[NDArray[np.int32]] = ...,
) -> Tuple[NDArray[F], NDArray[np.int32]]: ...
@overload
def border_align_forward(
    input: DeviceArray,
    boxes: Input,
    pool_size: int,
    *,
    output: Optional[OnDevice] = ...,
    argmax_idx: Optional[OnDevice] = ...,
) -> Tuple[DeviceArray, DeviceArray]: ...
@overload
def border_align_forward(
    input: Input,
    boxes: Input,
    pool_size: int,
    *,
    output: Optional[Output] = ...,
    argmax_idx: Optional[Output] = ...,
) -> Tuple[Array, Array]: ...
@overload
def border_align_backward(
    grad_output: NDArray[F],
    boxes: Input,
    argmax_idx: Input,
    pool_size: int,
    height: int,
    width: int,
    *,
    grad_input: Optional[NDArray[F]] = ...,
) -> NDArray[F]: ...
@overload
def border_align_backward(
    grad_output: DeviceArray,
    boxes: Input,
    argmax_idx: Input,
    pool_size: int,
    height: int,
    width: int,
    *,
    grad_input: Optional[OnDevice] = ...,
) -> DeviceArray: ...
@overload
def border_align_backward(
    grad_output: Input,
    boxes: Input,
    argmax_idx: Input,
    pool_size: int,
    height: int,
    width: int,
    *,
    grad_input: Optional[Output] = ...,
) -> Array: ...
