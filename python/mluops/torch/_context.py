# SPDX-License-Identifier: Apache-2.0
"""Calls of the C library with PyTorch's tensors, on torch's devices, streams and settings."""

from __future__ import annotations

import math
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .. import _context
from .._table import Table
from ._memory import LARGE_ELEMENTS, ask_for_huge_pages

# Allocate tensors without a dispatch, for torch's compiled code. On the CPU this takes 0.4 µs,
# new_empty_strided 0.7. None: torch is too old.
_empty_cpu: Any = None
_empty_cuda: Any = None  # on the current device
if hasattr(torch._C, "_dynamo"):
    _empty_cpu = getattr(torch._C._dynamo.guards, "_empty_strided_cpu", None)
    _empty_cuda = getattr(torch._C._dynamo.guards, "_empty_strided_cuda", None)


class _Call:
    """The C call for inputs of certain types and shapes. The data pointers change every time."""

    __slots__ = ("features", "is_large", "outputs", "pointers", "run")

    def __init__(self, table: Table, dtype: torch.dtype, shapes: List[tuple], channels_last: bool):
        self.features = next(i for i, row in enumerate(table.inputs) if not row.is_index)
        self.is_large = any(math.prod(shape) >= LARGE_ELEMENTS for shape in shapes)
        # Shape, strides and type of each output.
        self.outputs = [
            (
                *strided(shape, channels_last and row.is_permuted),
                torch.int32 if row.is_index else dtype,
            )
            for shape, row in zip(shapes, table.outputs)
        ]
        self.run: Any = None  # None: a tensor is empty, so the results are zeros
        self.pointers: Any = None


def strided(shape: Tuple[Any, ...], channels_last: bool) -> Tuple[Tuple[Any, ...], ...]:
    """Returns shape and strides of packed memory; NHWC memory as a channels_last tensor."""
    step, steps = 1, []
    for size in reversed(shape):
        steps.append(step)
        if type(size) is not int or size > 1:  # SymInts are above 1
            step = size * step
    strides = tuple(reversed(steps))
    if not channels_last:
        return shape, strides
    return tuple(shape[i] for i in (0, 3, 1, 2)), tuple(strides[i] for i in (0, 3, 1, 2))


class TorchContext(_context.Context):
    types = {
        torch.float16: _context.HALF,
        torch.float32: _context.FLOAT,
        torch.float64: _context.DOUBLE,
        torch.bfloat16: _context.BFLOAT16,
        torch.int8: _context.INT8,
        torch.int16: _context.INT16,
        torch.int32: _context.INT32,
        torch.int64: _context.INT64,
        torch.uint8: _context.UINT8,
        torch.bool: _context.BOOL,
    }
    pointer = staticmethod(Tensor.data_ptr)

    def __init__(self, device: str = "cpu"):
        super().__init__(device)
        self._calls: Dict[tuple, _Call] = {}
        self.empty = _empty_cpu if device == "cpu" else None

    def run(
        self,
        table: Table,
        attributes: Tuple[Any, ...],
        inputs: Sequence[Tensor],
        sizes: Tuple[Tuple[str, int], ...] = (),
        channels_last: bool = False,
    ) -> List[Tensor]:
        """Calls a C operator on packed inputs and returns its outputs. `sizes` are the symbols of
        its table that the inputs do not determine. If a tensor is empty, the results are zeros.
        `channels_last`: NHWC outputs are returned as channels_last tensors of shape [N, C, H, W].
        """
        # Loops: a list comprehension costs a frame (0.15 µs) before Python 3.12.
        key: Tuple[Any, ...] = (table, attributes, sizes, channels_last)
        for x in inputs:
            key += ((x.dtype, x.shape),)
        call = self._calls.get(key)
        if call is None:
            call = self._prepare(key, inputs)
        empty, outputs = self.empty, []
        for shape, strides, dtype in call.outputs:
            if empty is not None:
                output = empty(shape, strides, dtype)
            else:  # takes 0.7 of the time of new_empty
                output = inputs[call.features].new_empty_strided(shape, strides, dtype=dtype)
            outputs.append(output)
        if call.run is None:
            return [output.zero_() for output in outputs]
        if call.is_large:
            for output in outputs:
                ask_for_huge_pages(output)
        pointers, i = call.pointers, 0
        for tensor in inputs:
            pointers[i] = tensor.data_ptr()
            i += 1
        for tensor in outputs:
            pointers[i] = tensor.data_ptr()
            i += 1
        status = call.run()
        if status:
            table.fail(status)
        return outputs

    def _prepare(self, key: tuple, inputs: Sequence[Tensor]) -> _Call:
        table, attributes, sizes, channels_last, *given = key
        dtype = next(x.dtype for x in inputs if x.dtype != torch.int32)
        shapes = table.shapes(attributes, [shape for _, shape in given], dict(sizes))
        outputs = [
            (torch.int32 if row.is_index else dtype, shape)
            for row, shape in zip(table.outputs, shapes)
        ]
        # The outputs are the last rows of every table.
        plan = self.plan(table, attributes, (*given, *outputs))
        self.check(plan)
        call = _Call(table, dtype, shapes, channels_last)
        if not any(0 in shape for _, shape in (*given, *outputs)):
            call.run = plan.prepare(self.handle)
            call.pointers = plan.pointers
        self._calls[key] = call
        return call

    def _forget(self) -> None:
        if hasattr(self, "_calls"):
            self._calls.clear()
        super()._forget()


class _Contexts(threading.local):
    """The contexts of the calling thread, by device."""

    def __init__(self) -> None:
        self.cpu: Optional[TorchContext] = None
        self.cuda: Dict[int, TorchContext] = {}


_contexts = _Contexts()


def _current_stream(device: int) -> int:
    return torch.cuda.current_stream(device).cuda_stream


# torch's compiled code uses this function; it takes a tenth of the time.
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", _current_stream)
_current_device: Any = getattr(torch._C, "_cuda_getDevice", lambda: -1)
_get_num_threads = torch.get_num_threads
_is_deterministic = torch.are_deterministic_algorithms_enabled


def cpu_context() -> TorchContext:
    """Returns the calling thread's context for the CPU."""
    context = _contexts.cpu
    if context is None:
        context = _contexts.cpu = TorchContext("cpu")
    return context


def _cuda_context(device: int) -> TorchContext:
    context = _contexts.cuda.get(device)
    if context is None:
        context = _contexts.cuda[device] = TorchContext(f"cuda:{device}")
    return context


def context_of(tensor: Tensor) -> TorchContext:
    """Returns the calling thread's context for a tensor's device, with torch's current settings."""
    if tensor.is_cpu:
        context = cpu_context()
        count = _get_num_threads()
        if count != context.num_threads:
            context.use_threads(count)
    else:
        device = tensor.get_device()
        context = _cuda_context(device)
        context.use_stream(device, _current_stream(device))
        context.empty = _empty_cuda if _current_device() == device else None
    context.use_atomics(
        _context.ATOMICS_NOT_ALLOWED if _is_deterministic() else _context.ATOMICS_ALLOWED
    )
    return context
