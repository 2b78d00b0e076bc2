# SPDX-License-Identifier: Apache-2.0
"""The types of points_in_boxes.py; `_types` explains the overloads."""

from typing import Any, Optional, overload

import numpy as np
from numpy.typing import NDArray

from ._device import DeviceArray
from ._types import Array, Input, OnDevice, Output

@overload
def points_in_boxes(
    points: NDArray[np.floating[Any]],
    boxes: Input,
    *,
    points_indices: Optional[NDArray[np.int32]] = ...,
) -> NDArray[np.int32]: ...
@overload
def points_in_boxes(
    points: DeviceArray, boxes: Input, *, points_indices: Optional[OnDevice] = ...
) -> DeviceArray: ...
@overload
def points_in_boxes(
    points: Input, boxes: Input, *, points_indices: Optional[Output] = ...
) -> Array: ...
@overload
def points_in_boxes_all(
    points: NDArray[np.floating[Any]], boxes: Input, *, inside: Optional[NDArray[np.int32]] = ...
) -> NDArray[np.int32]: ...
@overload
def points_in_boxes_all(
    points: DeviceArray, boxes: Input, *, inside: Optional[OnDevice] = ...
) -> DeviceArray: ...
@overload
def points_in_boxes_all(
    points: Input, boxes: Input, *, inside: Optional[Output] = ...
) -> Array: ...
