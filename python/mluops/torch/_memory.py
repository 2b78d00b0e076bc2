# SPDX-License-Identifier: Apache-2.0
"""Memory of results: huge pages where possible."""

from __future__ import annotations

import ctypes

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
