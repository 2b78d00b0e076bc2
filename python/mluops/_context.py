# SPDX-License-Identifier: Apache-2.0
"""The state of a thread that calls operators: a handle, and a cache of calls by shape."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from typing import Any, Callable, Iterator, Mapping, NoReturn, Optional, Sequence, Tuple

from ._library import (
    BadParamError,
    NotSupportedError,
    check,
    function,
    has_function,
    last_message,
    untyped_function,
)
from ._table import Row, Table

# The types of mlu_op.h.
HALF, FLOAT, INT8, INT16, INT32, UINT8, BOOL, INT64 = 1, 2, 3, 4, 6, 7, 8, 9
UINT32, UINT64, UINT16, DOUBLE, COMPLEX_FLOAT, BFLOAT16 = 11, 12, 13, 14, 16, 17
ATOMICS_NOT_ALLOWED, ATOMICS_ALLOWED = 1, 2

# Whether the C library computes in double. Without it float64 is computed in float32.
HAS_DOUBLE = has_function("mluOpSetDoubleAllowed")

_MAX_THREADS = 1024
_MAX_PLANS = 512  # the cache is emptied when it reaches this size
_MAX_SIZE = (1 << 63) - 1

_P, _I, _Z = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
_create = function("mluOpCreate", _P)
_destroy = function("mluOpDestroy", _P)
_set_num_threads = function("mluOpSetNumThreads", _P, _I)
_get_num_threads = function("mluOpGetNumThreads", _P, _P)
_set_atomics_mode = function("mluOpSetAtomicsMode", _P, _I)
_set_queue = function("mluOpSetQueue", _P, _P)
_queue_from_stream = function("mluOpCreateQueueFromCudaStream", _P, _I, _P)
_queue_destroy = function("cnrtQueueDestroy", _P)
_set_device = function("cnrtSetDevice", _I)
_get_device = function("cnrtGetDevice", _P)
_get_ordinal = function("mluOpGetDeviceOrdinal", _P, _P)
_create_descriptor = function("mluOpCreateTensorDescriptor", _P)
_destroy_descriptor = function("mluOpDestroyTensorDescriptor", _P)
_set_descriptor = function("mluOpSetTensorDescriptor_v2", _P, _I, _I, _I, _P)
_run_operator = function("mluOpRunOperator", _P, _P, _P, _P, _P, _P, _Z)
# Takes arguments that are converted already. Converting seven integers takes 0.2 µs of 0.75.
_run_prepared = untyped_function("mluOpRunOperator")
_check_operator = function("mluOpCheckOperator", _P, _P, _P, _P)
_workspace_size = function("mluOpGetOperatorWorkspaceSize", _P, _P, _P, _P, _P)


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


def _number(table: Table, name: str, value: Any) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadParamError(f"{table.name}: {name} must be a number, got {value!r}") from None


def _fail_shape(table: Table, row: Row, shape: Sequence[int]) -> NoReturn:
    place = table.place(row.name)
    if len(shape) != len(row.dims):
        raise BadParamError(f"{place} must be a tensor of {len(row.dims)} dims, got {len(shape)}")
    order = (0, 3, 1, 2) if table.called and row.is_permuted else range(len(shape))
    given = [shape[i] for i in order]
    raise NotSupportedError(f"{place} must have fewer than 2^63 elements, got {given}")


class Plan:
    """The arguments of a C operator for tensors of certain types and shapes. Only the data pointers
    change from call to call."""

    __slots__ = ("arguments", "attributes", "attributes_at", "descriptors", "pointers", "table")

    def __init__(self, table: Table, attributes: Sequence[float]):
        count = len(table.tensors)
        self.table = table
        self.attributes = (ctypes.c_double * len(attributes))(*attributes)
        self.descriptors = (ctypes.c_void_p * count)()
        self.pointers = (ctypes.c_void_p * count)()
        self.attributes_at = ctypes.addressof(self.attributes)
        # After the handle and before the workspace.
        at = ctypes.addressof(self.descriptors), ctypes.addressof(self.pointers)
        self.arguments = (table.op, self.attributes_at, *at)

    def prepare(self, handle: int) -> Callable[[], int]:
        """Returns the call without a workspace. The data pointers are read when it runs."""
        converted = [_P.from_param(argument) for argument in (handle, *self.arguments, None)]
        return functools.partial(_run_prepared, *converted, _Z(0))


class Context:
    """A handle on one device and its plans. One thread at a time may use it.

    A subclass defines `types` (element type to C enumerator) and `pointer` (tensor to address).
    """

    types: Mapping[Any, int] = {}
    pointer: Callable[[Any], int]

    def __init__(self, device: str = "cpu"):
        self._plans: dict[tuple, Plan] = {}
        self._descriptors: dict[tuple, int] = {}  # by layout, type and shape
        self._queues: dict[int, int] = {}
        self._stream: int | None = None
        self.handle = _create_handle(device)
        threads = ctypes.c_int()
        check(_get_num_threads(self.handle, ctypes.addressof(threads)))
        self.num_threads = threads.value
        self._atomics = ATOMICS_NOT_ALLOWED
        if HAS_DOUBLE:
            check(function("mluOpSetDoubleAllowed", _P, _I)(self.handle, 1))

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

    def plan(self, table: Table, attributes: Sequence[Any], tensors: Sequence[Any]) -> Plan:
        """Returns the arrays for a call with tensors of these types and shapes. `tensors` are
        (dtype, shape) pairs in the order of the table, None for an absent one."""
        key = (table, attributes, tensors)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _MAX_PLANS:
                self._forget()
            found = self._plans[key] = self._make_plan(table, attributes, tensors)
        return found

    def _make_plan(self, table: Table, attributes: Sequence[Any], tensors: Sequence[Any]) -> Plan:
        if len(attributes) != len(table.attributes):
            raise BadParamError(
                f"{table.name}: the number of attributes must be {len(table.attributes)}, got "
                f"{len(attributes)}"
            )
        try:
            plan = Plan(table, attributes)
        except (TypeError, OverflowError):
            plan = Plan(
                table, [_number(table, *pair) for pair in zip(table.attributes, attributes)]
            )
        for i, (row, tensor) in enumerate(zip(table.tensors, tensors)):
            if tensor is not None:
                plan.descriptors[i] = self._describe(table, row, *tensor)
        return plan

    def _describe(self, table: Table, row: Row, dtype: Any, shape: Sequence[int]) -> int:
        """Returns a descriptor. Tensors of one type and shape share it."""
        key = (row.layout, dtype, shape)
        found = self._descriptors.get(key)
        if found is None:
            found = self._descriptors[key] = self._make_descriptor(table, row, dtype, shape)
        return found

    def _make_descriptor(self, table: Table, row: Row, dtype: Any, shape: Sequence[int]) -> int:
        if dtype not in self.types:
            raise BadParamError(
                f"{table.place(row.name)} must have a type of the C library, got {dtype}"
            )
        rank, dims = len(shape), shape
        if rank and (min(shape) < 0 or max(shape) > _MAX_SIZE):
            # Wrong attributes may give sizes that are no int64. The library reports the attributes.
            dims = [min(max(size, 0), _MAX_SIZE) for size in shape]
        array = (ctypes.c_int64 * rank)(*dims)
        descriptor = ctypes.c_void_p()
        check(_create_descriptor(ctypes.addressof(descriptor)))
        status = _set_descriptor(
            descriptor, row.layout, self.types[dtype], rank, ctypes.addressof(array)
        )
        if status:
            _destroy_descriptor(descriptor)
            _fail_shape(table, row, shape)
        return descriptor.value or 0

    def check(self, plan: Plan) -> None:
        """Runs the library's checks of a call's types, shapes and attributes."""
        table = plan.table
        status = _check_operator(
            self.handle, table.op, plan.attributes_at, ctypes.addressof(plan.descriptors)
        )
        if status:
            table.fail(status, plan.attributes)

    def call(
        self,
        table: Table,
        attributes: Tuple[Any, ...],
        tensors: Sequence[Any],
        workspace: Tuple[Optional[int], int] = (None, 0),
    ) -> None:
        """Calls a C operator. Attributes and packed tensors are in the order of its table; None is
        an absent tensor."""
        plan = self.plan(
            table,
            attributes,
            tuple([None if t is None else (t.dtype, t.shape) for t in tensors]),
        )
        for i, tensor in enumerate(tensors):
            plan.pointers[i] = None if tensor is None else self.pointer(tensor)
        status = _run_operator(self.handle, *plan.arguments, *workspace)
        if status:
            table.fail(status, plan.attributes)

    def size(self, getter: Table, attributes: Tuple[Any, ...], tensors: Sequence[Any]) -> int:
        """Returns the size of a workspace."""
        plan = self.plan(getter, attributes, tuple((t.dtype, t.shape) for t in tensors))
        result = ctypes.c_size_t()
        at = plan.attributes_at, ctypes.addressof(plan.descriptors), ctypes.addressof(result)
        status = _workspace_size(self.handle, getter.op, *at)
        if status:
            getter.fail(status)
        return result.value

    def _forget(self) -> None:
        for descriptor in self._descriptors.values():
            _destroy_descriptor(descriptor)
        self._descriptors.clear()
        self._plans.clear()
