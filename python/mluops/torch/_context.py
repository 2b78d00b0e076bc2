# SPDX-License-Identifier: Apache-2.0
"""Contexts of the C library for PyTorch's tensors: types, devices and settings."""

from __future__ import annotations

import threading

import torch

from .. import _context


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
    pointer = staticmethod(torch.Tensor.data_ptr)


_local = threading.local()


def _current_stream(device: int) -> int:
    return torch.cuda.current_stream(device).cuda_stream


# torch's compiled code uses this function; it takes a tenth of the time.
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", _current_stream)


def context_of(tensor: torch.Tensor) -> TorchContext:
    """Returns the calling thread's context for a tensor's device, with torch's current settings."""
    name = "cpu" if tensor.is_cpu else str(tensor.device)
    try:
        context = _local.contexts[name]
    except (AttributeError, KeyError):
        if not hasattr(_local, "contexts"):
            _local.contexts = {}
        context = _local.contexts[name] = TorchContext(name)
    if tensor.is_cpu:
        context.use_threads(torch.get_num_threads())
    else:
        context.use_stream(tensor.get_device(), _current_stream(tensor.get_device()))
    context.use_atomics(
        _context.ATOMICS_NOT_ALLOWED
        if torch.are_deterministic_algorithms_enabled()
        else _context.ATOMICS_ALLOWED
    )
    return context
