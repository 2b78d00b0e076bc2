# SPDX-License-Identifier: Apache-2.0
"""Converts arguments to arrays that the C library accepts, and holds the handles of each thread."""

from __future__ import annotations

import ctypes
import math
import operator
import sys
import threading
from typing import Any, Optional, Tuple, Union

import numpy as np

from .. import _context
from .._library import BadParamError, NotSupportedError
from ._device import DeviceArray, from_device

Array = Union[np.ndarray, DeviceArray]

_from_buffer = (ctypes.c_char * 0).from_buffer
_addressof = ctypes.addressof


def _pointer(array: Array) -> int:
    try:  # takes a quarter of the time of array.ctypes.data
        return _addressof(_from_buffer(array))
    except TypeError:  # a read-only input
        if isinstance(array, np.ndarray):
            return array.ctypes.data
    raise BadParamError(
        f"mluops: the arrays of a call must be on one device, got one on the CPU and {array!r}"
    )


class ArrayContext(_context.Context):
    types = {
        np.dtype(name): value
        for name, value in (
            ("float16", _context.HALF),
            ("float32", _context.FLOAT),
            ("float64", _context.DOUBLE),
            ("int8", _context.INT8),
            ("int16", _context.INT16),
            ("int32", _context.INT32),
            ("int64", _context.INT64),
            ("uint8", _context.UINT8),
            ("uint16", _context.UINT16),
            ("uint32", _context.UINT32),
            ("uint64", _context.UINT64),
            ("bool", _context.BOOL),
            ("complex64", _context.COMPLEX_FLOAT),
        )
    }
    pointer = staticmethod(_pointer)


class DeviceContext(ArrayContext):
    def __init__(self, device: int):
        super().__init__(f"cuda:{device}")
        self._device = device

    def pointer(self, array: Array) -> int:  # type: ignore[override]
        if not isinstance(array, DeviceArray) or array.device != self._device:
            raise BadParamError(
                "mluops: the arrays of a call must be on one device, got one on "
                f"cuda:{self._device} and {array!r}"
            )
        if array.stream != self._stream:  # work on that stream may still write the array
            array.synchronize()
        return array.pointer


_local = threading.local()
_num_threads = 0  # 0: the default of the C library


def _current_on(array: DeviceArray) -> DeviceContext:
    """Returns the calling thread's context for the array's device, set to its stream."""
    if not hasattr(_local, "devices"):
        _local.devices = {}
    if array.device not in _local.devices:
        _local.devices[array.device] = DeviceContext(array.device)
    context = _local.devices[array.device]
    context.use_stream(array.device, array.stream)
    return context


def current(like: Array | None = None) -> ArrayContext:
    """Returns the calling thread's context for the device of `like`."""
    if isinstance(like, DeviceArray):
        return _current_on(like)
    try:
        context = _local.context
    except AttributeError:
        context = _local.context = ArrayContext()
        _local.found = context.num_threads
    context.use_threads(_num_threads or _local.found)
    return context


def set_num_threads(count: int) -> None:
    """Sets the maximum number of threads of a call, for all Python threads. 0: all cores."""
    global _num_threads
    number = _integer("set_num_threads", "count", count)
    if not 0 <= number <= 1024:
        raise BadParamError(f"set_num_threads: count must be in [0, 1024], got {number}")
    _num_threads = number


def _caller() -> str:
    """Returns the name of the public function that runs, for error messages."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ or frame.f_code.co_name.startswith("_"):
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_code.co_name


def _integer(function: str, name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise BadParamError(f"{function}: {name} must be an integer, got {value!r}") from None


def count_of(value: Any, name: str) -> int:
    """Converts a size, or an attribute that determines one, to an int in [0, 2^31)."""
    number = value if type(value) is int else _integer(_caller(), name, value)
    if not 0 <= number < 1 << 31:
        raise BadParamError(f"{_caller()}: {name} must be in [0, 2^31), got {number}")
    return number


def get_num_threads() -> int:
    """Returns the maximum number of threads of a call."""
    return current().num_threads


def as_input(value: Any, rank: int, name: str) -> Array:
    if isinstance(value, np.ndarray):
        array = value
    elif (device_array := from_device(value)) is not None:
        if device_array.ndim != rank:
            raise BadParamError(
                f"{_caller()}: {name} must be a tensor of {rank} dims, got {device_array.ndim}"
            )
        return device_array
    elif hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        array = np.from_dlpack(value)
    else:
        array = np.asarray(value)
        if array.dtype.kind not in "biufc":
            kind = type(value).__name__
            raise BadParamError(f"{_caller()}: {name} must be an array of numbers, got {kind}")
    if array.ndim != rank:
        raise BadParamError(
            f"{_caller()}: {name} must be a tensor of {rank} dims, got {array.ndim}"
        )
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="), "C")
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.require(array, None, "CA")


def as_output(
    given: Array | None, shape: tuple, like: Array, name: str, dtype: Any = None
) -> Array:
    """Returns `given`, or a new array on the device of `like`. `dtype` defaults to its type."""
    if isinstance(like, DeviceArray):
        return _as_device_output(given, shape, like, name, dtype)
    if given is None:
        try:
            return np.empty(shape, dtype or like.dtype)
        except (TypeError, ValueError, MemoryError):
            if math.prod(count_of(size, f"a size of {name}") for size in shape) < 1 << 60:
                raise
        raise NotSupportedError(
            f"{_caller()}: {name} must have fewer than 2^60 elements, got {shape}"
        )
    if not isinstance(given, np.ndarray):
        raise BadParamError(
            f"{_caller()}: {name} must be a numpy.ndarray, got {type(given).__name__}"
        )
    if not given.flags.carray:
        raise BadParamError(
            f"{_caller()}: {name} must be packed, aligned and writable, got "
            f"strides {given.strides} of shape {given.shape}, writable: {given.flags.writeable}"
        )
    return given  # the C library checks its shape and type


def _as_device_output(
    given: Any, shape: tuple, like: DeviceArray, name: str, dtype: Any
) -> DeviceArray:
    if given is None:
        sizes = tuple(count_of(size, f"a size of {name}") for size in shape)
        if math.prod(sizes) >= 1 << 60:
            raise NotSupportedError(
                f"{_caller()}: {name} must have fewer than 2^60 elements, got {shape}"
            )
        return DeviceArray.empty(sizes, dtype or like.dtype, like.device, like.stream)
    array = from_device(given)
    if array is None or array.device != like.device:
        kind = type(given).__name__
        raise BadParamError(
            f"{_caller()}: {name} must be an array on cuda:{like.device}, got {kind}"
        )
    return array


def space(workspace: Any, like: Array) -> Tuple[Optional[int], int]:
    if workspace is None:
        return None, 0
    array = as_output(workspace, (), like, "workspace")
    return current(like).pointer(array), array.nbytes
