# SPDX-License-Identifier: Apache-2.0
"""Loads the C library, declares its functions and converts statuses to exceptions."""

from __future__ import annotations

import ctypes
import operator
import os
import pathlib
from typing import Any, Callable, NoReturn

# MLUOPS_LIBRARY names another libmluops.so than the one in this package, for development.
_path = os.environ.get("MLUOPS_LIBRARY") or str(pathlib.Path(__file__).parent / "libmluops.so")
try:
    _library = ctypes.CDLL(_path)  # CDLL releases the GIL during a call
except OSError as error:
    raise ImportError(f"mluops: cannot load {_path}: {error}") from error


class Error(RuntimeError):
    """A status of the C library other than SUCCESS, with the library's error message."""

    status = 4  # INTERNAL_ERROR, unless a subclass overrides it


class BadParamError(Error, ValueError):
    """An argument violates a rule. The message names the argument, the rule and the value."""

    status = 3


class AllocFailedError(Error, MemoryError):
    """Out of memory. The same call may succeed later."""

    status = 2


class NotSupportedError(Error, NotImplementedError):
    """The arguments are valid, but the library does not implement them."""

    status = 7


class _Int:
    """An int argument with a range check. ctypes.c_int silently drops the upper bits."""

    @staticmethod
    def from_param(value: Any) -> int:
        value = operator.index(value)
        if not -(1 << 31) <= value < 1 << 31:
            raise OverflowError(f"must fit in a C int, got {value}")
        return value


_POINTER = ctypes.c_void_p
_TYPES: dict[str, list[Any]] = {
    "i": [_Int],
    "f": [ctypes.c_float],
    "p": [_POINTER],
    "z": [ctypes.c_size_t],
    **{tensor: [_POINTER, _POINTER] for tensor in "hca"},
    **{descriptor: [_POINTER] for descriptor in "HCA"},
}


def function(name: str, arguments: str) -> Callable[..., int]:
    """Returns the C function of that name; it returns its status.

    Letters of the arguments: i int, f float, p pointer, z size_t; h, c, a a tensor (descriptor and
    pointer) in NHWC, NCHW, any layout; H, C, A the descriptor only.
    """
    result = getattr(_library, name)
    result.argtypes = [kind for letter in arguments for kind in _TYPES[letter]]
    result.restype = ctypes.c_int
    return result


class Entry:
    """A C operator, with the letters of the arguments after its handle."""

    def __init__(self, name: str, arguments: str):
        self.name = name
        self.arguments = arguments.replace(" ", "")
        self.function = function(name, "p" + self.arguments)


_last_message = _library.mluOpGetLastErrorMessage
_last_message.argtypes = []
_last_message.restype = ctypes.c_char_p


_ERRORS = {kind.status: kind for kind in (BadParamError, AllocFailedError, NotSupportedError)}


def last_message() -> str:
    """Returns the error message of this thread's last failure."""
    return _last_message().decode()


def fail(status: int) -> NoReturn:
    """Raises the exception of a status, with the C library's error message."""
    message = last_message()
    error = _ERRORS.get(status, Error)(message or f"mluops: status {status}")
    error.status = status
    raise error


def check(status: int) -> None:
    if status:
        fail(status)


def version() -> str:
    """Returns the version of the C library."""
    parts = [ctypes.c_int() for _ in range(3)]
    function("mluOpGetLibVersion", "ppp")(*(ctypes.addressof(part) for part in parts))
    return ".".join(str(part.value) for part in parts)
