# SPDX-License-Identifier: Apache-2.0
"""Memory of results and of scratch: huge pages where possible."""

from __future__ import annotations

import ctypes
import math
import threading
from typing import Dict, Sequence

import torch
from torch import Tensor

_HUGE_PAGE = 2 << 20
_MADV_HUGEPAGE = 14
LARGE_ELEMENTS = _HUGE_PAGE  # a result below this size contains no whole huge page
_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def ask_for_huge_pages(tensor: Tensor) -> None:
    """Requests huge pages, as NumPy does for its arrays and torch's allocator does not. A large
    block comes from the system at every call, and each page costs a fault on first write."""
    if not tensor.is_cpu:
        return
    begin, size = tensor.data_ptr(), tensor.numel() * tensor.element_size()
    first = -(-begin // _HUGE_PAGE) * _HUGE_PAGE
    last = (begin + size) // _HUGE_PAGE * _HUGE_PAGE
    if first < last:
        _madvise(first, last - first, _MADV_HUGEPAGE)


class Scratch(threading.local):
    """Uninitialised CPU tensors of the calling thread, by name. A tensor of at most 64 MB keeps its
    memory for the next one with this name. Each page of new memory costs a fault.
    """

    MAX_BYTES = 64 << 20

    def __init__(self) -> None:
        self._kept: Dict[str, Tensor] = {}

    def empty(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        count = math.prod(shape)
        memory = self._kept.get(name)
        if memory is None or memory.dtype is not dtype or memory.numel() < count:
            with torch.inference_mode(False):  # other calls may be outside of the mode
                memory = torch.empty(count, dtype=dtype, device="cpu")
            ask_for_huge_pages(memory)
            if count * memory.element_size() <= self.MAX_BYTES:
                self._kept[name] = memory
        return memory[:count].view(shape)
