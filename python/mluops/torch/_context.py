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
from ._memory import LARGE_ELEMENTS, ask_for_huge_pages, empty_channels_last

_run_operator = _context.run_operator


class _Call:
    """A plan with the shapes of its outputs."""

    __slots__ = ("features", "is_large", "outputs", "plan")

    def __init__(self, plan: Optional[_context.Plan], table: Table, shapes: List[tuple]):
        self.plan = plan  # None: a tensor is empty, so the results are zeros
        self.features = next(i for i, row in enumerate(table.inputs) if not row.is_index)
        self.is_large = any(math.prod(shape) >= LARGE_ELEMENTS for shape in shapes)
        # Shape and type of each output (None: the type of the features), and whether it is NHWC.
        self.outputs = [
            (shape, torch.int32 if row.is_index else None, row.is_permuted)
            for shape, row in zip(shapes, table.outputs)
        ]


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
        key = (table, attributes, sizes, *[(x.dtype, x.shape) for x in inputs])
        call = self._calls.get(key)
        if call is None:
            call = self._prepare(key, inputs)
        like = inputs[call.features]
        outputs = [
            empty_channels_last(like, shape)
            if channels_last and permuted
            else like.new_empty(shape)
            if dtype is None
            else like.new_empty(shape, dtype=dtype)
            for shape, dtype, permuted in call.outputs
        ]
        plan = call.plan
        if plan is None:
            return [output.zero_() for output in outputs]
        if call.is_large:
            for output in outputs:
                ask_for_huge_pages(output)
        pointers, i = plan.pointers, 0
        for tensor in inputs:
            pointers[i] = tensor.data_ptr()
            i += 1
        for tensor in outputs:
            pointers[i] = tensor.data_ptr()
            i += 1
        status = _run_operator(self.handle, *plan.arguments, None, 0)
        if status:
            table.fail(status)
        return outputs

    def _prepare(self, key: tuple, inputs: Sequence[Tensor]) -> _Call:
        table, attributes, sizes, *given = key
        dtype = next(x.dtype for x in inputs if x.dtype != torch.int32)
        shapes = table.shapes(attributes, [shape for _, shape in given], dict(sizes))
        outputs = [
            (torch.int32 if row.is_index else dtype, shape)
            for row, shape in zip(table.outputs, shapes)
        ]
        # The outputs are the last rows of every table.
        plan = self.plan(table, attributes, (*given, *outputs))
        self.check(plan)
        is_empty = any(0 in shape for _, shape in (*given, *outputs))
        call = self._calls[key] = _Call(None if is_empty else plan, table, shapes)
        return call

    def _forget(self) -> None:
        if hasattr(self, "_calls"):
            self._calls.clear()
        super()._forget()


_local = threading.local()


def _current_stream(device: int) -> int:
    return torch.cuda.current_stream(device).cuda_stream


# torch's compiled code uses this function; it takes a tenth of the time.
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", _current_stream)
_get_num_threads = torch.get_num_threads
_is_deterministic = torch.are_deterministic_algorithms_enabled


def _new_context(name: str) -> TorchContext:
    context = TorchContext("cpu" if name == "cpu" else f"cuda:{name[4:]}")
    setattr(_local, name, context)
    return context


def cpu_context() -> TorchContext:
    """Returns the calling thread's context for the CPU."""
    try:
        return _local.cpu
    except AttributeError:
        return _new_context("cpu")


def context_of(tensor: Tensor) -> TorchContext:
    """Returns the calling thread's context for a tensor's device, with torch's current settings."""
    if tensor.is_cpu:
        context = cpu_context()
        count = _get_num_threads()
        if count != context.num_threads:
            context.use_threads(count)
    else:
        device = tensor.get_device()
        context = getattr(_local, f"cuda{device}", None) or _new_context(f"cuda{device}")
        context.use_stream(device, _current_stream(device))
    context.use_atomics(
        _context.ATOMICS_NOT_ALLOWED if _is_deterministic() else _context.ATOMICS_ALLOWED
    )
    return context
