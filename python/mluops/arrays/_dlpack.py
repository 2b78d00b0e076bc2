# SPDX-License-Identifier: Apache-2.0
"""DLPack capsules for arrays on CUDA devices: https://dmlc.github.io/dlpack."""

from __future__ import annotations

import ctypes
from typing import Any, Tuple

import numpy as np

from .._library import BadParamError

KIND_CUDA = 2
_NAME = b"dltensor"
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # by numpy.dtype.kind


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _ManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, _Destructor]
_get = ctypes.pythonapi.PyCapsule_GetPointer
_get.restype, _get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_raw_get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_raw_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)

_exported: dict[int, Tuple[_ManagedTensor, Any, Any]] = {}  # tensors in use, by address


@_Deleter
def _delete(address: int) -> None:
    _exported.pop(address, None)


@_Destructor
def _destroy(capsule: int) -> None:
    if _raw_is_valid(capsule, _NAME):  # the capsule was not consumed
        _exported.pop(_raw_get(capsule, _NAME), None)


def export(array: Any) -> Any:
    """Returns a capsule of a packed DeviceArray. The array lives until the consumer deletes it."""
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    tensor = _Tensor(
        data=array.pointer,
        device_type=KIND_CUDA,
        device_id=array.device,
        ndim=array.ndim,
        code=_CODES[array.dtype.kind],
        bits=8 * array.dtype.itemsize,
        lanes=1,
        shape=shape,
    )
    managed = _ManagedTensor(tensor, None, _delete)
    address = ctypes.addressof(managed)
    _exported[address] = (managed, shape, array)
    return _new(address, _NAME, _destroy)


def view(capsule: Any) -> Tuple[int, tuple, tuple | None, np.dtype]:
    """Returns pointer, shape, strides (in elements) and type. The caller must keep the capsule."""
    tensor = _ManagedTensor.from_address(_get(capsule, _NAME)).tensor
    kinds = {code: kind for kind, code in _CODES.items()}
    if tensor.code not in kinds or tensor.lanes != 1:
        raise BadParamError(
            f"mluops: an array's type must be a NumPy type, got DLPack code {tensor.code} with "
            f"{tensor.lanes} lanes"
        )
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else None
    dtype = np.dtype(f"{kinds[tensor.code]}{tensor.bits // 8}")
    return (tensor.data or 0) + tensor.byte_offset, shape, strides, dtype
