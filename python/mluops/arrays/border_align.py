# SPDX-License-Identifier: Apache-2.0
"""Border align of BorderDet."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np

from .._table import Table
from ._arrays import Array, as_input, as_output, current

_FORWARD = Table("border_align_forward")
_BACKWARD = Table("border_align_backward")


def border_align_forward(
    input: Any,
    boxes: Any,
    pool_size: int,
    *,
    output: Array | None = None,
    argmax_idx: Array | None = None,
) -> Tuple[Array, Array]:
    """Returns the maximum of pool_size+1 samples along each border of each box.

    input: [N, H, W, 4*C], a block of C channels per border (top, left, bottom, right);
    boxes: [N, K, 4] = x1, y1, x2, y2. Returns output and argmax_idx (int32), both [N, K, 4, C].

    >>> input = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1).repeat(4, axis=3)
    >>> output, argmax = border_align_forward(input, np.array([[[0, 0, 2, 2]]], np.float32), 2)
    >>> output[0, 0, :, 0], argmax[0, 0, :, 0]
    (array([2., 6., 8., 8.], dtype=float32), array([2, 2, 0, 0], dtype=int32))
    """
    input, boxes = as_input(input, 4, "input"), as_input(boxes, 3, "boxes")
    shape = (input.shape[0], boxes.shape[1], 4, input.shape[3] // 4)
    output = as_output(output, shape, input, "output")
    argmax_idx = as_output(argmax_idx, shape, input, "argmax_idx", np.int32)
    current(input).call(_FORWARD, (pool_size,), (input, boxes, output, argmax_idx))
    return output, argmax_idx


def border_align_backward(
    grad_output: Any,
    boxes: Any,
    argmax_idx: Any,
    pool_size: int,
    height: int,
    width: int,
    *,
    grad_input: Array | None = None,
) -> Array:
    """The gradient of `border_align_forward`: adds to the four pixels of each chosen sample.

    grad_output, argmax_idx: [N, K, 4, C]; grad_input: [N, height, width, 4*C].

    >>> boxes, argmax = np.array([[[0, 0, 2, 2]]], np.float32), np.zeros((1, 1, 4, 1), np.int32)
    >>> grad = border_align_backward(np.ones((1, 1, 4, 1), np.float32), boxes, argmax, 2, 3, 3)
    >>> grad[0, 0, 0], grad[0, 2, 2]
    (array([1., 1., 0., 0.], dtype=float32), array([0., 0., 1., 1.], dtype=float32))
    """
    grad_output, boxes = as_input(grad_output, 4, "grad_output"), as_input(boxes, 3, "boxes")
    argmax_idx = as_input(argmax_idx, 4, "argmax_idx")
    shape = (grad_output.shape[0], height, width, 4 * grad_output.shape[3])
    grad_input = as_output(grad_input, shape, grad_output, "grad_input")
    tensors = (grad_output, boxes, argmax_idx, grad_input)
    current(grad_output).call(_BACKWARD, (pool_size,), tensors)
    return grad_input
