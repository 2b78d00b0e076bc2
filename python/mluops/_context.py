# SPDX-License-Identifier: Apache-2.0
"""The state of a thread that calls operators: a handle, and a cache of descriptors by shape."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Callable, Iterator, Mapping

from ._library import BadParamError, Entry, NotSupportedError, check, fail, function, last_message

# The layouts and types of mlu_op.h.
_LAYOUTS = {"c": 0, "C": 0, "h": 1, "H": 1, "a": 4, "A": 4}  # by the letters of an Entry
HALF, FLOAT, INT8, INT16, INT32, UINT8, BOOL, INT64 = 1, 2, 3, 4, 6, 7, 8, 9
UINT32, UINT64, UINT16, DOUBLE, COMPLEX_FLOAT, BFLOAT16 = 11, 12, 13, 14, 16, 17
ATOMICS_NOT_ALLOWED, ATOMICS_ALLOWED = 1, 2

_MAX_THREADS = 1024
_MAX_DESCRIPTORS = 1024  # the cache is emptied when it exceeds this size

_create = function("mluOpCreate", "p")
_destroy = function("mluOpDestroy", "p")
_set_num_threads = function("mluOpSetNumThreads", "pi")
_get_num_threads = function("mluOpGetNumThreads", "pp")
_set_atomics_mode = function("mluOpSetAtomicsMode", "pi")
_set_queue = function("mluOpSetQueue", "pp")
_queue_from_stream = function("mluOpCreateQueueFromCudaStream", "pip")
_queue_destroy = function("cnrtQueueDestroy", "p")
_set_device = function("cnrtSetDevice", "i")
_get_device = function("cnrtGetDevice", "p")
_get_ordinal = function("mluOpGetDeviceOrdinal", "pp")
_create_descriptor = function("mluOpCreateTensorDescriptor", "p")
_destroy_descriptor = function("mluOpDestroyTensorDescriptor", "p")
_set_descriptor = function("mluOpSetTensorDescriptor_v2", "piiip")


def _ordinal(device: str) -> int:
    """Returns the device's ordinal in the C library, which reads MLUOP_VISIBLE_DEVICES."""
    ordinal = ctypes.c_int()
    status = _get_ordinal(device.encode(), ctypes.addressof(ordinal))
    if status == NotSupportedError.status:
        raise NotSupportedError(
            f"mluops: tensors on {device} need the CUDA library and that device: {last_message()}"
        )
    check(status)
    return ordinal.value


@contextlib.contextmanager
def on_device(device: str) -> Iterator[None]:
    """Makes `device` the current device of the C library for the calling thread."""
    before = ctypes.c_int()
    check(_get_device(ctypes.addressof(before)))
    check(_set_device(_ordinal(device)))
    try:
        yield
    finally:
        _set_device(before.value)


def _create_handle(device: str) -> int:
    handle = ctypes.c_void_p()
    with on_device(device):
        check(_create(ctypes.addressof(handle)))
    return handle.value or 0


class Context:
    """A handle on one device and its descriptors. One thread at a time may use it.

    A subclass defines `types` (element type to C enumerator) and `pointer` (tensor to address).
    """

    types: Mapping[Any, int] = {}
    pointer: Callable[[Any], int]

    def __init__(self, device: str = "cpu"):
        self._descriptors: dict[tuple, int] = {}
        self._queues: dict[int, int] = {}
        self._stream: int | None = None
        self.handle = _create_handle(device)
        threads = ctypes.c_int()
        check(_get_num_threads(self.handle, ctypes.addressof(threads)))
        self.num_threads = threads.value
        self._atomics = ATOMICS_NOT_ALLOWED

    def __del__(self) -> None:
        self._forget()
        if hasattr(self, "handle"):
            _destroy(self.handle)
        for queue in self._queues.values():
            _queue_destroy(queue)

    def use_threads(self, count: int) -> None:
        if count != self.num_threads:
            check(_set_num_threads(self.handle, min(count, _MAX_THREADS)))
            self.num_threads = count

    def use_atomics(self, mode: int) -> None:
        if mode != self._atomics:
            check(_set_atomics_mode(self.handle, mode))
            self._atomics = mode

    def use_stream(self, cuda_device: int, stream: int) -> None:
        if stream == self._stream:
            return
        if stream not in self._queues:
            queue = ctypes.c_void_p()
            check(_queue_from_stream(ctypes.addressof(queue), cuda_device, stream))
            self._queues[stream] = queue.value or 0
        check(_set_queue(self.handle, self._queues[stream]))
        self._stream = stream

    def descriptor(self, tensor: Any, layout: int) -> int:
        key = (layout, tensor.dtype, tensor.shape)
        try:
            return self._descriptors[key]
        except KeyError:
            return self._describe(key)

    def _describe(self, key: tuple) -> int:
        layout, dtype, shape = key
        if dtype not in self.types:
            raise BadParamError(
                f"mluops: an array's type must be a type of the C library, got {dtype}"
            )
        descriptor = ctypes.c_void_p()
        check(_create_descriptor(ctypes.addressof(descriptor)))
        dims = (ctypes.c_int64 * len(shape))(*shape)
        status = _set_descriptor(
            descriptor, layout, self.types[dtype], len(shape), ctypes.addressof(dims)
        )
        if status:
            _destroy_descriptor(descriptor)
            fail(status)
        self._descriptors[key] = descriptor.value or 0
        return self._descriptors[key]

    def call(self, entry: Entry, *arguments: Any) -> None:
        """Calls a C operator. A tensor stands for its descriptor and its pointer, None for an
        absent tensor. Tensors must be packed."""
        if len(arguments) != len(entry.arguments):  # ctypes would pass surplus arguments
            raise BadParamError(f"{entry.name}: a list among the arguments has a wrong length")
        flat: list[Any] = []
        for letter, value in zip(entry.arguments, arguments):
            layout = _LAYOUTS.get(letter)
            if layout is None:
                flat.append(value)
                continue
            flat.append(None if value is None else self.descriptor(value, layout))
            if letter.islower():
                flat.append(None if value is None else self.pointer(value))
        try:
            status = entry.function(self.handle, *flat)
        except ctypes.ArgumentError as error:
            raise BadParamError(f"{entry.name}: {error}") from None
        finally:
            # After the call only: it needs all of its descriptors.
            if len(self._descriptors) > _MAX_DESCRIPTORS:
                self._forget()
        if status:
            fail(status)

    def size(self, getter: Entry, *arguments: Any) -> int:
        """Returns the size that a getter writes to its last argument."""
        result = ctypes.c_size_t()
        self.call(getter, *arguments, ctypes.addressof(result))
        return result.value

    def _forget(self) -> None:
        for descriptor in self._descriptors.values():
            _destroy_descriptor(descriptor)
        self._descriptors.clear()
