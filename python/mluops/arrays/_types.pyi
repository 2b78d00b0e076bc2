# SPDX-License-Identifier: Apache-2.0
"""Types of the functions' arguments and results.

Each function has three overloads, by the array whose type and device the results have: NumPy arrays
give NumPy arrays of the same element type, a DeviceArray gives DeviceArrays, and other objects give
one of the two. Index results are int32.
"""

from typing import Any, Dict, Optional, Protocol, Sequence, Tuple, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from ._device import DeviceArray

F = TypeVar("F", bound=np.floating[Any])

class HasDlpack(Protocol):
    def __dlpack__(self, *, stream: Optional[int] = ...) -> Any: ...
    def __dlpack_device__(self) -> Tuple[Any, int]: ...

class HasInterface(Protocol):
    @property
    def __array_interface__(self) -> Dict[str, Any]: ...

class HasCudaInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]: ...

OnDevice = Union[DeviceArray, HasCudaInterface, HasDlpack]
Input = Union[NDArray[Any], Sequence[Any], HasInterface, OnDevice]
Output = Union[NDArray[Any], OnDevice]
Array = Union[NDArray[Any], DeviceArray]
