# SPDX-License-Identifier: Apache-2.0
"""psa_mask: the point-wise spatial attention mask of PSANet."""

from __future__ import annotations

from typing import Any, Sequence, Tuple, Union

import torch
import torch.fx
from torch import Tensor, nn

from .._table import Table
from ._arguments import BroadcastingList2, integer, pair, require_tensors
from ._context import context_of
from ._dispatch import skipping_dispatch
from ._operator import register
from ._tensors import as_type, compute_type, follows_channels_last, meta_outputs, packed

_NAMES = {"x": "input", "dy": "grad"}
_FORWARD = Table("psamask_forward", "psa_mask", _NAMES)
_BACKWARD = Table("psamask_backward", "psa_mask_backward", _NAMES)
_NCHW_FORWARD = Table("psamask_nchw_forward", "psa_mask", _NAMES)
_NCHW_BACKWARD = Table("psamask_nchw_backward", "psa_mask_backward", _NAMES)


def _run(source: Tensor, attributes: Tuple[int, int, int], nchw: Table, nhwc: Table) -> Tensor:
    if source.dtype is torch.float32 and source.is_contiguous():  # nothing to convert
        return context_of(source).run(nchw, attributes, (source,))[0]
    dtype = compute_type(nchw, source)
    if source.dim() == 4 and follows_channels_last(source):
        x = as_type(source, dtype).permute(0, 2, 3, 1)
        (y,) = context_of(x).run(nhwc, attributes, (x,), channels_last=True)
        return as_type(y, source.dtype)
    x = packed(source, dtype)
    (y,) = context_of(x).run(nchw, attributes, (x,))
    return as_type(y, source.dtype)


def _kernel(input: Tensor, psa_type: int, h_mask: int, w_mask: int) -> Tensor:
    return _run(input, (psa_type, h_mask, w_mask), _NCHW_FORWARD, _FORWARD)


def _backward_kernel(grad: Tensor, psa_type: int, h_mask: int, w_mask: int) -> Tensor:
    return _run(grad, (psa_type, h_mask, w_mask), _NCHW_BACKWARD, _BACKWARD)


def _meta(input: Tensor, *attributes: int) -> Tensor:
    return meta_outputs(_FORWARD, attributes, (input,))[0]


def _backward_meta(grad: Tensor, *attributes: int) -> Tensor:
    return meta_outputs(_BACKWARD, attributes, (grad,))[0]


def _save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    ctx.attributes = inputs[1:]
    return ()


_forward = register(
    "psa_mask(Tensor input, int psa_type, int h_mask, int w_mask) -> Tensor",
    _kernel,
    _meta,
    _save,
    backward=lambda ctx, saved, grad: _backward_call(grad, *ctx.attributes),
    tangent=lambda ctx, saved, tangent: _forward(tangent, *ctx.attributes),
)
_backward = register(
    "psa_mask_backward(Tensor grad, int psa_type, int h_mask, int w_mask) -> Tensor",
    _backward_kernel,
    _backward_meta,
    _save,
    backward=lambda ctx, saved, grad: _forward(grad, *ctx.attributes),
    tangent=lambda ctx, saved, tangent: _backward(tangent, *ctx.attributes),
)
_backward_call = skipping_dispatch(_backward, _backward_kernel)


@torch.fx.wrap
def psa_mask(input: Tensor, psa_type: int, mask_size: BroadcastingList2[int]) -> Tensor:
    """Point-wise spatial attention mask of PSANet.

    input: [N, h_mask*w_mask, H, W]; psa_type 0 (collect) or 1 (distribute); mask_size:
    (h_mask, w_mask) or one number. Returns [N, H*W, H, W]. Drop-in for `mmcv.ops.psa_mask`.

    >>> psa_mask(torch.tensor([0.0, 1, 2]).view(1, 3, 1, 1).repeat(1, 1, 1, 2), 0, (1, 3))[0, :, 0]
    tensor([[1., 0.],
            [2., 1.]])
    """
    if torch.jit.is_scripting():
        return torch.ops.mluops.psa_mask(input, psa_type, mask_size[0], mask_size[1])
    else:  # torch.jit.script compiles what follows a return
        if not isinstance(input, Tensor):
            require_tensors("psa_mask", input=input)
        if type(psa_type) is not int or psa_type.bit_length() > 63:
            if isinstance(psa_type, str):
                raise TypeError(
                    f"psa_mask: psa_type must be 0 (collect) or 1 (distribute), got '{psa_type}'"
                )
            psa_type = integer("psa_mask", "psa_type", psa_type)
        h_mask, w_mask = pair("psa_mask", "mask_size", mask_size)
        return _forward(input, psa_type, h_mask, w_mask)


class PSAMask(nn.Module):
    """Drop-in for `mmcv.ops.PSAMask`; see `psa_mask`.

    psa_type: "collect" or "distribute"; mask_size: (h_mask, w_mask) or one number.
    forward: input [N, h_mask*w_mask, H, W]; returns [N, H*W, H, W].

    >>> import torch
    >>> PSAMask("collect", (1, 1))(torch.ones(1, 1, 1, 2))[0, :, 0]
    tensor([[1., 0.],
            [0., 1.]])
    """

    def __init__(self, psa_type: str, mask_size: Union[int, Sequence[int], None] = None):
        super().__init__()
        if psa_type not in ("collect", "distribute"):
            raise ValueError(
                f'PSAMask: psa_type must be "collect" or "distribute", got {psa_type!r}'
            )
        if mask_size is not None:
            pair("PSAMask", "mask_size", mask_size)  # raises if it does not fit
        self.psa_type_enum = 0 if psa_type == "collect" else 1
        self.mask_size = mask_size
        self.psa_type = psa_type

    def forward(self, input: Tensor) -> Tensor:
        """See `psa_mask`."""
        mask_size = self.mask_size
        if mask_size is None:
            raise ValueError("PSAMask: mask_size must be given, got None")
        return psa_mask(input, self.psa_type_enum, mask_size)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(psa_type={self.psa_type}, mask_size={self.mask_size})"
