# SPDX-License-Identifier: Apache-2.0
"""The types of transpose.py; `_types` explains the overloads."""

from typing import Optional, overload

from numpy.typing import NDArray

from ._device import DeviceArray
from ._types import Array, F, Input, OnDevice, Output

@overload
def transpose(input: NDArray[F], *, output: Optional[NDArray[F]] = ...) -> NDArray[F]: ...
@overload
def transpose(input: DeviceArray, *, output: Optional[OnDevice] = ...) -> DeviceArray: ...
@overload
def transpose(input: Input, *, output: Optional[Output] = ...) -> Array: ...
