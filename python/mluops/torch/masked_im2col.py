# SPDX-License-Identifier: Apache-2.0
"""masked_im2col copies the windows at masked pixels to columns; masked_col2im writes them back."""

from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Tuple

from torch import Tensor

from .._library import BadParamError
from .._table import Table
from ._context import context_of
from ._dispatch import skipping_dispatch
from ._operator import Saved, register
from ._tensors import as_type, compute_type, indices, meta_outputs, packed

_NAMES = {
    "feature": "input",
    "grad_col": "grad",
    "grad_im": "grad",
    "kernel_h": "kernel[0]",
    "kernel_w": "kernel[1]",
    "pad_h": "padding[0]",
    "pad_w": "padding[1]",
}
_SIZES = {"H": "height", "W": "width"}
_IM2COL = Table("masked_im2col_forward", "masked_im2col", _NAMES)
_IM2COL_BACKWARD = Table("masked_im2col_backward", "masked_im2col_backward", {**_NAMES, **_SIZES})
_COL2IM = Table("masked_col2im_forward", "masked_col2im", {**_NAMES, **_SIZES})
_COL2IM_BACKWARD = Table("masked_col2im_backward", "masked_col2im_backward", _NAMES)


def _window(table: Table, kernel: List[int], padding: List[int]) -> Tuple[int, int, int, int]:
    for name, value in (("kernel", kernel), ("padding", padding)):
        if len(value) != 2:
            raise BadParamError(f"{table.called}: {name} must be a list of 2, got {list(value)}")
    return (kernel[0], kernel[1], padding[0], padding[1])


def _run(
    table: Table,
    attributes: Tuple[int, ...],
    features: Tensor,
    at: Tuple[Tensor, Tensor],
    sizes: Tuple[Tuple[str, int], ...] = (),
) -> Tensor:
    x = packed(features, compute_type(table, features))
    (result,) = context_of(x).run(table, attributes, (x, *indices(table, *at)), sizes)
    return as_type(result, features.dtype)


def _im2col_kernel(
    input: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, kernel: List[int], padding: List[int]
) -> Tensor:
    return _run(_IM2COL, _window(_IM2COL, kernel, padding), input, (mask_h_idx, mask_w_idx))


def _im2col_meta(
    input: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, kernel: List[int], padding: List[int]
) -> Tensor:
    window = _window(_IM2COL, kernel, padding)
    return meta_outputs(_IM2COL, window, (input, mask_h_idx, mask_w_idx))[0]


def _im2col_backward_kernel(
    grad: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    kernel: List[int],
    padding: List[int],
    height: int,
    width: int,
) -> Tensor:
    window = _window(_IM2COL_BACKWARD, kernel, padding)
    sizes = (("H", height), ("W", width))
    return _run(_IM2COL_BACKWARD, window, grad, (mask_h_idx, mask_w_idx), sizes)


def _im2col_backward_meta(
    grad: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    kernel: List[int],
    padding: List[int],
    height: int,
    width: int,
) -> Tensor:
    window = _window(_IM2COL_BACKWARD, kernel, padding)
    sizes = (("H", height), ("W", width))
    return meta_outputs(_IM2COL_BACKWARD, window, (grad, mask_h_idx, mask_w_idx), sizes)[0]


def _col2im_kernel(
    col: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, height: int, width: int
) -> Tensor:
    return _run(_COL2IM, (), col, (mask_h_idx, mask_w_idx), (("H", height), ("W", width)))


def _col2im_meta(
    col: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, height: int, width: int
) -> Tensor:
    sizes = (("H", height), ("W", width))
    return meta_outputs(_COL2IM, (), (col, mask_h_idx, mask_w_idx), sizes)[0]


def _col2im_backward_kernel(grad: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor) -> Tensor:
    return _run(_COL2IM_BACKWARD, (), grad, (mask_h_idx, mask_w_idx))


def _col2im_backward_meta(grad: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor) -> Tensor:
    return meta_outputs(_COL2IM_BACKWARD, (), (grad, mask_h_idx, mask_w_idx))[0]


def _im2col_save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    input, mask_h_idx, mask_w_idx, ctx.kernel, ctx.padding = inputs
    ctx.size = input.shape[2:]
    return mask_h_idx, mask_w_idx


def _im2col_backward_save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    _, mask_h_idx, mask_w_idx, ctx.kernel, ctx.padding, *ctx.size = inputs
    return mask_h_idx, mask_w_idx


def _im2col(ctx: Any, saved: Saved, image: Tensor) -> Tensor:
    return _im2col_forward(image, *saved, ctx.kernel, ctx.padding)


def _im2col_gradient(ctx: Any, saved: Saved, grad: Tensor) -> Tensor:
    return _im2col_backward_call(grad, *saved, ctx.kernel, ctx.padding, *ctx.size)


_im2col_forward = register(
    "masked_im2col(Tensor input, Tensor mask_h_idx, Tensor mask_w_idx, int[] kernel, "
    "int[] padding) -> Tensor",
    _im2col_kernel,
    _im2col_meta,
    _im2col_save,
    backward=_im2col_gradient,
    tangent=_im2col,
)
_im2col_backward = register(
    "masked_im2col_backward(Tensor grad, Tensor mask_h_idx, Tensor mask_w_idx, int[] kernel, "
    "int[] padding, SymInt height, SymInt width) -> Tensor",
    _im2col_backward_kernel,
    _im2col_backward_meta,
    _im2col_backward_save,
    backward=_im2col,
    tangent=_im2col_gradient,
)
_im2col_backward_call = skipping_dispatch(_im2col_backward, _im2col_backward_kernel)


def _col2im_save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    ctx.size = inputs[3:]
    return inputs[1], inputs[2]


def _col2im_backward_save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    ctx.size = inputs[0].shape[2:]
    return inputs[1], inputs[2]


def _col2im(ctx: Any, saved: Saved, col: Tensor) -> Tensor:
    return _col2im_forward(col, *saved, *ctx.size)


def _col2im_gradient(ctx: Any, saved: Saved, grad: Tensor) -> Tensor:
    return _col2im_backward_call(grad, *saved)


_col2im_forward = register(
    "masked_col2im(Tensor col, Tensor mask_h_idx, Tensor mask_w_idx, SymInt height, SymInt width) "
    "-> Tensor",
    _col2im_kernel,
    _col2im_meta,
    _col2im_save,
    backward=_col2im_gradient,
    tangent=_col2im,
)
_col2im_backward = register(
    "masked_col2im_backward(Tensor grad, Tensor mask_h_idx, Tensor mask_w_idx) -> Tensor",
    _col2im_backward_kernel,
    _col2im_backward_meta,
    _col2im_backward_save,
    backward=_col2im,
    tangent=_col2im_gradient,
)
_col2im_backward_call = skipping_dispatch(_col2im_backward, _col2im_backward_kernel)


class _Kernels(NamedTuple):
    im2col: Callable[..., Tensor]
    im2col_backward: Callable[..., Tensor]
    col2im: Callable[..., Tensor]
    col2im_backward: Callable[..., Tensor]


KERNELS = _Kernels(_im2col_kernel, _im2col_backward_kernel, _col2im_kernel, _col2im_backward_kernel)
