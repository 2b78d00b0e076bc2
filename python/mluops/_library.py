# SPDX-License-Identifier: Apache-2.0
"""Loads the C library, declares its functions and converts statuses to exceptions."""

from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any, Callable, NamedTuple, NoReturn, Optional

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


def function(name: str, *arguments: Any) -> Callable[..., int]:
    """Returns the C function with this name and these argument types. It returns a status."""
    result = getattr(_library, name)
    result.argtypes = arguments
    result.restype = ctypes.c_int
    return result


def untyped_function(name: str) -> Callable[..., int]:
    """Returns the C function with this name. Its arguments must be ctypes objects."""
    return _library[name]  # a new object each time, without argument types


def has_function(name: str) -> bool:
    return hasattr(_library, name)


class ErrorInfo(NamedTuple):
    """The parts of an error message about an argument; "" if the failure was of another kind."""

    op: str
    argument: str
    property: str
    index: int
    rule: str
    value: str


class _ErrorInfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int if name == "index" else ctypes.c_char_p) for name in ErrorInfo._fields
    ]


_last_message = _library.mluOpGetLastErrorMessage
_last_message.argtypes = []
_last_message.restype = ctypes.c_char_p
_last_info = function("mluOpGetLastErrorInfo", ctypes.c_void_p)

_ERRORS = {kind.status: kind for kind in (BadParamError, AllocFailedError, NotSupportedError)}


def last_message() -> str:
    """Returns the error message of this thread's last failure."""
    return _last_message().decode()


def last_error() -> ErrorInfo:
    """Returns the parts of this thread's last error message."""
    info = _ErrorInfo()
    _last_info(ctypes.addressof(info))
    parts = (getattr(info, name) for name in ErrorInfo._fields)
    return ErrorInfo(*(part.decode() if isinstance(part, bytes) else part for part in parts))


def fail(status: int, word: Callable[[ErrorInfo], Optional[str]] = lambda error: None) -> NoReturn:
    """Raises the exception of a status. `word` may return a message in place of the library's."""
    message = word(last_error()) or last_message() or f"mluops: status {status}"
    error = _ERRORS.get(status, Error)(message)
    error.status = status
    raise error


def check(status: int) -> None:
    if status:
        fail(status)


def version() -> str:
    """Returns the version of the C library."""
    parts = [ctypes.c_int() for _ in range(3)]
    get_version = function("mluOpGetLibVersion", *[ctypes.c_void_p] * 3)
    get_version(*(ctypes.addressof(part) for part in parts))
    return ".".join(str(part.value) for part in parts)
