# SPDX-License-Identifier: Apache-2.0
"""Conversion between NCHW and NHWC."""

from __future__ import annotations

from typing import Any

from .._table import Table
from ._arrays import Array, as_input, as_output, current

_TRANSPOSE = Table("transpose")


def transpose(input: Any, *, output: Array | None = None) -> Array:
    """Transposes matrices on all cores: input [N, A, B], output [N, B, A]. With A channels and B
    pixels it converts NCHW to NHWC, with A pixels and B channels NHWC to NCHW.

    >>> transpose(np.array([[[1, 2, 3], [4, 5, 6]]], np.float32))
    array([[[1., 4.],
            [2., 5.],
            [3., 6.]]], dtype=float32)
    """
    input = as_input(input, 3, "input")
    n, rows, columns = input.shape
    output = as_output(output, (n, columns, rows), input, "output")
    current(input).call(_TRANSPOSE, (), (input, output))
    return output
