# SPDX-License-Identifier: Apache-2.0
"""The C library: where it is, how its functions are called, what their statuses become."""

from __future__ import annotations

import ctypes
import operator
import os
import pathlib
from typing import Any, Callable, NoReturn

# MLUOPS_LIBRARY: another libmluops.so than the one in this package, for those who work on it.
_path = os.environ.get("MLUOPS_LIBRARY") or str(pathlib.Path(__file__).parent / "libmluops.so")
try:
    _library = ctypes.CDLL(_path)  # CDLL lets other Python threads run during a call
except OSError as error:
    raise ImportError(f"mluops: cannot load {_path}: {error}") from error


class Error(RuntimeError):
    """A status of the C library other than success; the text is the library's own sentence."""

    status = 4  # INTERNAL_ERROR, unless a subclass says more


class BadParamError(Error, ValueError):
    """An argument breaks a rule: the sentence names the argument, the rule and the value."""

    status = 3


class AllocFailedError(Error, MemoryError):
    """There was not enough memory. The same call may succeed later."""

    status = 2


class NotSupportedError(Error, NotImplementedError):
    """The arguments are valid, but this library does not do that."""

    status = 7


# Arguments by letter: i int, f float, p pointer, z size_t, t a tensor (descriptor and pointer).
_SIGNATURES = {
    "mluOpCreate": "p",
    "mluOpDestroy": "p",
    "mluOpSetQueue": "pp",
    "mluOpSetAtomicsMode": "pi",
    "mluOpGetLibVersion": "ppp",
    "mluOpCreateTensorDescriptor": "p",
    "mluOpDestroyTensorDescriptor": "p",
    "mluOpSetTensorDescriptor_v2": "piiip",
    "mluOpSetNumThreads": "pi",
    "mluOpGetNumThreads": "pp",
    "mluOpCreateQueueFromCudaStream": "pip",
    "cnrtSetDevice": "i",
    "cnrtGetDevice": "p",
    "cnrtQueueDestroy": "p",
    "mluOpPsamaskForward": "pi t ii t",
    "mluOpPsamaskBackward": "pi t ii t",
    "mluOpPsamaskNchwForward": "pi t ii t",
    "mluOpPsamaskNchwBackward": "pi t ii t",
    "mluOpMaskedIm2colForward": "p ttt iiii pz t",
    "mluOpMaskedIm2colBackward": "p ttt iiii pz t",
    "mluOpMaskedCol2imForward": "p ttt zp t",
    "mluOpPsRoiPoolForward": "pii f ii tt pz tt",
    "mluOpPsRoiPoolBackward": "pii f i ttt t",
    "mluOpTorchvisionPsRoiPoolForward": "pii f tt t",
    "mluOpTorchvisionPsRoiPoolBackward": "pii f tt t",
    "mluOpBorderAlignForward": "p tt i tt",
    "mluOpBorderAlignBackward": "p ttt i t",
    "mluOpRoiawarePool3dForward": "piiii ttt pz iiii ttt",
    "mluOpRoiawarePool3dBackward": "p iiiiiii ttt t",
    "mluOpTranspose": "p t t",
    "mluOpGetPsRoiPoolForwardWorkspaceSize": "piii pp p",
    "mluOpGetRoiawarePool3dForwardWorkspaceSize": "pppp p",
    "mluOpGetMaskedIm2colForwardWorkspaceSize": "pppp ii pp",
    "mluOpGetMaskedCol2imForwardWorkspaceSize": "ppppp p",
}


class _Int:
    """ctypes' own c_int would drop the upper bits of a large number without a word."""

    @staticmethod
    def from_param(value: Any) -> int:
        value = operator.index(value)
        if not -(1 << 31) <= value < 1 << 31:
            raise OverflowError(f"must fit an int of C, got {value}")
        return value


_TYPES: dict[str, list[Any]] = {
    "i": [_Int],
    "f": [ctypes.c_float],
    "p": [ctypes.c_void_p],
    "z": [ctypes.c_size_t],
    "t": [ctypes.c_void_p, ctypes.c_void_p],
}


def function(name: str) -> Callable[..., int]:
    """The C function of that name, returning its status."""
    result = getattr(_library, name)
    result.argtypes = [
        kind for letter in _SIGNATURES[name].replace(" ", "") for kind in _TYPES[letter]
    ]
    result.restype = ctypes.c_int
    return result


_last_message = _library.mluOpGetLastErrorMessage
_last_message.argtypes = []
_last_message.restype = ctypes.c_char_p


_ERRORS = {kind.status: kind for kind in (BadParamError, AllocFailedError, NotSupportedError)}


def fail(status: int) -> NoReturn:
    """Raises what a status stands for, with the sentence that the C library left."""
    message = _last_message().decode()
    error = _ERRORS.get(status, Error)(message or f"mluops: status {status}")
    error.status = status
    raise error


def check(status: int) -> None:
    if status:
        fail(status)


def version() -> str:
    """The version of the C library."""
    parts = [ctypes.c_int() for _ in range(3)]
    function("mluOpGetLibVersion")(*(ctypes.addressof(part) for part in parts))
    return ".".join(str(part.value) for part in parts)
