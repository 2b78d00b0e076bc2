# SPDX-License-Identifier: Apache-2.0
"""Memory for results."""

from __future__ import annotations

import ctypes
from typing import Tuple

import torch
from torch import Tensor

_HUGE_PAGE = 2 << 20
_MADV_HUGEPAGE = 14
_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def _ask_for_huge_pages(tensor: Tensor) -> None:
    """A wish, as NumPy has it for its arrays; torch's allocator does not. Large memory comes fresh
    from the system at every call, and is mapped page by page when it is first written."""
    begin, size = tensor.data_ptr(), tensor.numel() * tensor.element_size()
    first = -(-begin // _HUGE_PAGE) * _HUGE_PAGE
    last = (begin + size) // _HUGE_PAGE * _HUGE_PAGE
    if first < last:
        _madvise(first, last - first, _MADV_HUGEPAGE)


def empty(like: Tensor, shape: Tuple[int, ...], dtype: torch.dtype | None = None) -> Tensor:
    """Memory of no meaning, on the device of `like` and in its type if none is given."""
    result = like.new_empty(shape, dtype=dtype)
    if like.is_cpu and result.numel() * result.element_size() >= 2 * _HUGE_PAGE:
        _ask_for_huge_pages(result)
    return result
