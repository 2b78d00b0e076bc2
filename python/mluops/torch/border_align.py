# SPDX-License-Identifier: Apache-2.0
"""border_align: the maximum of samples along each border of a box (BorderDet)."""

from __future__ import annotations

from typing import Any, Tuple

import torch
import torch.fx
from torch import Tensor, nn

from .._table import Table
from ._arguments import integer, require_tensors
from ._dispatch import skipping_dispatch
from ._operator import Saved, register
from ._tensors import (
    empty_channels_last,
    in_format_of,
    meta_outputs,
    run_in_layout,
)

_NAMES = {"grad_output": "grad", "argmax_idx": "argmax"}
_BACKWARD_NAMES = {**_NAMES, "H": "height", "W": "width"}
_FORWARD = Table("border_align_forward", "border_align", _NAMES)
_BACKWARD = Table("border_align_backward", "border_align_backward", _BACKWARD_NAMES)
_NCHW_FORWARD = Table("border_align_nchw_forward", "border_align", _NAMES)
_NCHW_BACKWARD = Table("border_align_nchw_backward", "border_align_backward", _BACKWARD_NAMES)


def _kernel(input: Tensor, boxes: Tensor, pool_size: int) -> Tuple[Tensor, Tensor]:
    output, argmax = run_in_layout(_NCHW_FORWARD, _FORWARD, (pool_size,), input, (boxes,))
    return output, argmax


def _meta(input: Tensor, boxes: Tensor, pool_size: int) -> Tuple[Tensor, Tensor]:
    output, _ = meta_outputs(_FORWARD, (pool_size,), (input, boxes))
    n, c, k, borders = output.shape  # argmax: NHWC in memory, whatever the layout of the input
    return output, empty_channels_last(input, (n, k, borders, c), torch.int32)


def _backward_kernel(
    grad: Tensor, boxes: Tensor, argmax: Tensor, pool_size: int, height: int, width: int
) -> Tensor:
    sizes = (("H", height), ("W", width))
    tables = _NCHW_BACKWARD, _BACKWARD
    return run_in_layout(*tables, (pool_size,), grad, (boxes, argmax), sizes)[0]


def _backward_meta(
    grad: Tensor, boxes: Tensor, argmax: Tensor, pool_size: int, height: int, width: int
) -> Tensor:
    sizes = (("H", height), ("W", width))
    return meta_outputs(_BACKWARD, (pool_size,), (grad, boxes, argmax), sizes)[0]


def _positions(boxes: Tensor, pool_size: int) -> Tuple[Tensor, Tensor]:
    """Returns x and y of the samples, [N, K, 4, pool_size+1], advanced by adding the step as the
    operator does."""
    x1, y1, x2, y2 = boxes.unbind(-1)
    zero = torch.zeros_like(x1)
    step_x, step_y = (x2 - x1) / pool_size, (y2 - y1) / pool_size
    x, y = torch.stack([x1, x1, x2, x2], -1), torch.stack([y1, y1, y2, y2], -1)
    dx = torch.stack([step_x, zero, -step_x, zero], -1)
    dy = torch.stack([zero, step_y, zero, -step_y], -1)
    xs, ys = [x], [y]
    for _ in range(pool_size):
        xs.append(xs[-1] + dx)
        ys.append(ys[-1] + dy)
    return torch.stack(xs, -1), torch.stack(ys, -1)


def _neighbours(position: Tensor, size: int) -> Tuple[Tensor, Tensor, Tensor]:
    """Returns the lower and upper pixel, and the weight of the upper."""
    position = position.clamp(min=0)
    low = position.clamp(max=max(size - 1, 0)).long()
    high = (low + 1).clamp(max=max(size - 1, 0))
    return low, high, torch.where(low < size - 1, position - low, torch.zeros_like(position))


def _gather(input: Tensor, boxes: Tensor, argmax: Tensor, pool_size: int) -> Tensor:
    """The value of the samples that argmax names: border_align at fixed indices, which is linear.
    Made of torch's operators, so it has derivatives of any order."""
    n, channels, height, width = input.shape
    k, c = boxes.shape[1], channels // 4
    if not (input.numel() and boxes.numel()):
        return input.new_zeros((n, c, k, 4))
    # Half cannot represent positions; the result is rounded once.
    dtype = torch.promote_types(torch.promote_types(input.dtype, boxes.dtype), torch.float32)
    xs, ys = _positions(boxes.to(dtype), pool_size)
    index = argmax.long().permute(0, 2, 3, 1)  # [N, K, 4, C]
    chosen = index.clamp(0, pool_size)
    x, y = xs.gather(3, chosen), ys.gather(3, chosen)
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width) & (index == chosen)
    x, y = (torch.where(inside, each, torch.zeros_like(each)) for each in (x, y))
    x0, x1, wx = _neighbours(x, width)
    y0, y1, wy = _neighbours(y, height)
    planes = input.to(dtype).reshape(n, 4, c, height * width).permute(0, 3, 1, 2)

    def at(row: Tensor, column: Tensor) -> Tensor:
        return planes.gather(1, row * width + column)

    value = (at(y0, x0) * (1 - wx) + at(y0, x1) * wx) * (1 - wy)
    value = value + (at(y1, x0) * (1 - wx) + at(y1, x1) * wx) * wy
    value = torch.where(inside, value, torch.zeros_like(value))
    return in_format_of(input, value.permute(0, 3, 1, 2).to(input.dtype))


def _save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    input, boxes, ctx.pool_size = inputs
    ctx.size = input.shape[2:]
    return boxes, output[1]


def _backward_save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    _, boxes, argmax, ctx.pool_size, *ctx.size = inputs
    return boxes, argmax


def _gradient(ctx: Any, saved: Saved, grad: Tensor) -> Tensor:
    return _backward_call(grad, *saved, ctx.pool_size, *ctx.size)


def _tangent(ctx: Any, saved: Saved, tangent: Tensor) -> Tensor:
    return _gather(tangent, *saved, ctx.pool_size)


_forward = register(
    "border_align(Tensor input, Tensor boxes, int pool_size) -> (Tensor, Tensor)",
    _kernel,
    _meta,
    _save,
    backward=_gradient,
    tangent=_tangent,
)
_backward = register(
    "border_align_backward(Tensor grad, Tensor boxes, Tensor argmax, int pool_size, "
    "SymInt height, SymInt width) -> Tensor",
    _backward_kernel,
    _backward_meta,
    _backward_save,
    backward=_tangent,  # the adjoint of the scatter is the gather
    tangent=_gradient,
)
_backward_call = skipping_dispatch(_backward, _backward_kernel)


@torch.fx.wrap
def border_align(input: Tensor, boxes: Tensor, pool_size: int) -> Tensor:
    """Border align of BorderDet: the maximum of pool_size+1 samples along each border of a box.

    input: [N, 4*C, H, W], a block of C channels per border (top, left, bottom, right).
    boxes: [N, K, 4] = x1, y1, x2, y2 in pixels of the map. Returns [N, C, K, 4].
    Drop-in for `mmcv.ops.border_align`.

    >>> input = torch.arange(9.0).view(1, 1, 3, 3).repeat(1, 4, 1, 1)
    >>> border_align(input, torch.tensor([[[0.0, 0.0, 2.0, 2.0]]]), 2)
    tensor([[[[2., 6., 8., 8.]]]])
    """
    if torch.jit.is_scripting():
        return torch.ops.mluops.border_align(input, boxes, pool_size)[0]
    else:  # torch.jit.script compiles what follows a return
        if not (isinstance(input, Tensor) and isinstance(boxes, Tensor)):
            require_tensors("border_align", input=input, boxes=boxes)
        if type(pool_size) is not int or pool_size.bit_length() > 63:
            pool_size = integer("border_align", "pool_size", pool_size)
        return _forward(input, boxes, pool_size)[0]


class BorderAlign(nn.Module):
    """Drop-in for `mmcv.ops.BorderAlign`; see `border_align`.

    forward: input [N, 4*C, H, W], boxes [N, K, 4]; returns [N, C, K, 4].

    >>> import torch
    >>> BorderAlign(2)(torch.ones(1, 4, 3, 3), torch.tensor([[[0.0, 0.0, 2.0, 2.0]]]))
    tensor([[[[1., 1., 1., 1.]]]])
    """

    def __init__(self, pool_size: int):
        super().__init__()
        self.pool_size = integer("BorderAlign", "pool_size", pool_size)

    def forward(self, input: Tensor, boxes: Tensor) -> Tensor:
        """See `border_align`."""
        return border_align(input, boxes, self.pool_size)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(pool_size={self.pool_size})"
