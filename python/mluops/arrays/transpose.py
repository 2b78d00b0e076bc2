# SPDX-License-Identifier: Apache-2.0
"""One layout into the other."""

from __future__ import annotations

from typing import Any

from .. import _entries
from ._arrays import Array, as_input, as_output, current


def transpose(input: Any, *, output: Array | None = None) -> Array:
    """Matrices transposed on all cores: input [N, A, B], output [N, B, A]. NCHW and NHWC are
    transposes of each other, with A and B the channels and the pixels.

    >>> transpose(np.array([[[1, 2, 3], [4, 5, 6]]], np.float32))
    array([[[1., 4.],
            [2., 5.],
            [3., 6.]]], dtype=float32)
    """
    input = as_input(input, 3, "input")
    n, rows, columns = input.shape
    output = as_output(output, (n, columns, rows), input, "output")
    current(input).call(_entries.transpose, input, output)
    return output
