# SPDX-License-Identifier: Apache-2.0
"""Arrays in CUDA device memory. Inputs have `__cuda_array_interface__` or DLPack; results are
`DeviceArray`s, which have both."""

from __future__ import annotations

import ctypes
import math
from typing import Any, Tuple

import numpy as np

from .._context import on_device
from .._library import BadParamError, check, function
from ._dlpack import KIND_CUDA, export, view

_malloc = function("cnrtMalloc", ctypes.c_void_p, ctypes.c_size_t)
_free = function("cnrtFree", ctypes.c_void_p)
_copy = function("cnrtMemcpy", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_synchronize = function("cnrtSyncDevice")
_TO_HOST = 1  # cnrtMemcpyDevToHost
_LEGACY = 1  # the number of the default stream in __cuda_array_interface__


class _Memory:
    """Owns device memory."""

    def __init__(self, device: int, size: int):
        self._device, pointer = device, ctypes.c_void_p()
        with on_device(f"cuda:{device}"):
            check(_malloc(ctypes.addressof(pointer), size))
        self.pointer = pointer.value or 0

    def __del__(self) -> None:
        if getattr(self, "pointer", 0):
            with on_device(f"cuda:{self._device}"):
                _free(self.pointer)


class DeviceArray:
    """A packed array on a CUDA device.

    `cupy.asarray`, `torch.as_tensor` and all other consumers of `__cuda_array_interface__` or
    DLPack use it without a copy. `numpy()` copies it to the host.
    """

    def __init__(
        self, pointer: int, shape: tuple, dtype: Any, device: int, stream: int, owner: Any
    ):
        self.pointer, self.shape, self.dtype = pointer, tuple(shape), np.dtype(dtype)
        self.device, self.stream, self._owner = device, stream, owner

    @classmethod
    def empty(cls, shape: tuple, dtype: Any, device: int, stream: int) -> DeviceArray:
        memory = _Memory(device, math.prod(shape) * np.dtype(dtype).itemsize)
        return cls(memory.pointer, shape, dtype, device, stream, memory)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "strides": None,
            "stream": self.stream or _LEGACY,
            "version": 3,
        }

    def __dlpack_device__(self) -> Tuple[int, int]:
        return KIND_CUDA, self.device

    def __dlpack__(self, *, stream: int | None = None, **_: Any) -> Any:
        # Waits here, so that a consumer on another stream need not.
        if stream != -1 and (stream or _LEGACY) != (self.stream or _LEGACY):
            self.synchronize()
        return export(self)

    def synchronize(self) -> None:
        """Waits for all work on the device."""
        with on_device(f"cuda:{self.device}"):
            check(_synchronize())

    def numpy(self) -> np.ndarray:
        """Returns a copy on the host."""
        self.synchronize()
        result = np.empty(self.shape, self.dtype)
        if result.size:
            with on_device(f"cuda:{self.device}"):
                check(_copy(result.ctypes.data, self.pointer, result.nbytes, _TO_HOST))
        return result

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device='cuda:{self.device}')"


def from_device(value: Any) -> DeviceArray | None:
    """Returns a view of an array on a CUDA device; None for any other value."""
    if isinstance(value, DeviceArray):
        return value
    interface = getattr(value, "__cuda_array_interface__", None)
    device = getattr(value, "__dlpack_device__", None)
    if interface is not None and (device is None or interface.get("stream") is not None):
        return _from_interface(value, interface)
    # DLPack orders the streams. PyTorch's __cuda_array_interface__ names no stream.
    if device is None or device()[0] != KIND_CUDA:
        return None
    capsule = value.__dlpack__(stream=_LEGACY)
    pointer, shape, strides, dtype = view(capsule)
    _require_packed(shape, strides)
    return DeviceArray(pointer, shape, dtype, device()[1], 0, capsule)


def _require_packed(shape: tuple, strides: tuple | None) -> None:
    """Raises unless the strides, in elements, are packed."""
    packed = 1
    for size, stride in zip(reversed(shape), reversed(strides or ())):
        if size != 1 and stride != packed and 0 not in shape:
            raise BadParamError(
                f"mluops: an array on a CUDA device must be packed, got strides {strides} of "
                f"shape {shape}"
            )
        packed *= size


def _from_interface(value: Any, interface: dict) -> DeviceArray:
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    strides = interface.get("strides")
    _require_packed(shape, strides and tuple(stride // dtype.itemsize for stride in strides))
    stream = interface.get("stream") or _LEGACY
    return DeviceArray(
        interface["data"][0],
        shape,
        dtype,
        _device_of(value),
        0 if stream == _LEGACY else stream,
        value,
    )


def _device_of(value: Any) -> int:
    """Returns the device ordinal. __cuda_array_interface__ lacks it, so attributes are used."""
    kind = getattr(value, "__dlpack_device__", None)
    if kind is not None:
        return kind()[1]
    device = getattr(value, "device", 0)
    index = getattr(device, "id", getattr(device, "index", device))
    return index if isinstance(index, int) else 0
