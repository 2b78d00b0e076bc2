# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors for the C library: its types, its devices, its settings."""

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


def context_of(tensor: torch.Tensor) -> TorchContext:
    """The calling thread's context for a tensor's device, set as torch is set at this moment."""
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
        stream = torch.cuda.current_stream(tensor.device)
        context.use_stream(tensor.device.index, stream.cuda_stream)
    context.use_atomics(
        _context.ATOMICS_NOT_ALLOWED
        if torch.are_deterministic_algorithms_enabled()
        else _context.ATOMICS_ALLOWED
    )
    return context
