# SPDX-License-Identifier: Apache-2.0
"""masked_conv2d: a convolution that is computed only at the pixels of a mask."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import torch
import torch.fx
from torch import Tensor, nn

from .._table import Table
from . import _masked_columns as columns
from . import _masked_rows as rows
from ._arguments import BroadcastingList2, integer, pair, require_tensors
from ._context import context_of
from ._masked_arguments import (
    check,
    check_backward,
    check_once,
    complete,
    fitted,
    make_geometry,
)
from ._masked_conv2d_derivatives import Backward, Forward
from ._masked_rows import Geometry
from ._operator import register_function
from ._tensors import empty_channels_last, follows_channels_last, in_format_of, packed

_NAMES = {
    f"{name}_{axis}": f"{argument}[{i}]"
    for name, argument in (("stride", "stride"), ("pad", "padding"), ("dilation", "dilation"))
    for i, axis in enumerate("hw")
}
_FORWARD = Table("masked_conv2d_forward", "masked_conv2d", _NAMES)
_TYPES = (torch.float16, torch.float32)  # with kernels that multiply tiles


def _like(features: Tensor, shape: Sequence[Any]) -> Tensor:
    """An uninitialised tensor of the memory format of the features."""
    if follows_channels_last(features):
        n, channels, height, width = shape
        return empty_channels_last(features, (n, height, width, channels), features.dtype)
    return features.new_empty(list(shape))


def _in_a_format(features: Tensor) -> Tensor:
    """Packs several images of neither format, as their result is. An image alone may be
    channels_last, as in every second image of a channels_last tensor."""
    if features.size(0) == 1 or features.is_contiguous() or follows_channels_last(features):
        return features
    return features.contiguous()


def _cat(images: List[Tensor]) -> Tensor:
    return images[0] if len(images) == 1 else torch.cat(images)


def _is_one_call(features: Tensor, groups: int) -> bool:
    """Whether the C operator is the fastest. Its result does not wait for the device."""
    takes = groups == 1 and features.is_cuda and features.dtype in _TYPES
    return takes and features.numel() > 0  # C refuses empty features


def _as_values(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Returns a mask that is positive where `mask` is."""
    return mask if mask.dtype in (dtype, torch.bool) else mask > 0


def _convolve(
    features: Tensor, mask: Tensor, weight: Tensor, bias: Optional[Tensor], geometry: Geometry
) -> Tensor:
    dtype = features.dtype
    x = packed(features, dtype)
    inputs = (
        x,
        packed(_as_values(mask, dtype), dtype),
        packed(weight, dtype),
        weight.new_zeros(weight.size(0)) if bias is None else packed(bias, dtype),
    )
    kernel = (weight.size(2), weight.size(3))
    attributes = (*kernel, *geometry.stride, *geometry.padding, *geometry.dilation)
    (result,) = context_of(x).run(_FORWARD, attributes, inputs)
    return in_format_of(features, result) if x is not features else result


def _run(
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Optional[Tensor],
    geometry: Geometry,
    groups: int,
    by_rows: bool = False,
) -> Tensor:
    if features.size(0) == 1 and not by_rows:  # the usual image; slicing costs as much as checks
        return columns.convolve(features, mask, weight, bias, geometry, groups)
    images = []
    for i in range(features.size(0)):
        image = features[i : i + 1]
        if by_rows:
            images.append(rows.convolve(image, mask[i], weight, bias, geometry))
        else:
            images.append(columns.convolve(image, mask[i], weight, bias, geometry, groups))
    if not images:
        return _like(features, (0, weight.size(0), *mask.shape[1:]))
    return _cat(images)


def _kernel(*arguments: Any) -> Tensor:
    arguments = complete(arguments)
    features, mask, weight, bias, _, _, _, groups = arguments
    geometry, size = check_once(*arguments)
    mask = fitted(mask, size)
    if _is_one_call(features, groups):
        return _convolve(features, mask, weight, bias, geometry)
    features = _in_a_format(features)
    by_rows = rows.applies(features, weight, groups)
    return _run(features, mask, weight, bias, geometry, groups, by_rows)


def _meta(*arguments: Any) -> Tensor:
    features, mask, weight, bias, padding, stride, dilation, groups = complete(arguments)
    size = check(features, mask, weight, bias, make_geometry(padding, stride, dilation), groups)
    return _like(features, (features.size(0), weight.size(0), *size))


def _run_backward(arguments: Tuple[Any, ...], by_rows: bool) -> Tuple[Tensor, ...]:
    grad, features, mask, weight, *_, groups, wanted = arguments
    geometry, size = check_backward(arguments)
    mask = fitted(mask, size)
    images: List[Tensor] = []
    others: List[Optional[Tensor]] = [None, None]
    for i in range(features.size(0)):
        image, grad_image = features[i : i + 1], grad[i : i + 1]
        if by_rows:
            found = rows.gradients(grad_image, image, mask[i], weight, geometry, wanted)
        else:
            found = columns.gradients(grad_image, image, mask[i], weight, geometry, groups)
        if found[0] is not None:
            images.append(found[0])
        others = [a if b is None else b if a is None else a + b for a, b in zip(others, found[1:])]
    results = (
        _cat(images) if images else torch.zeros_like(features),
        weight.new_zeros(weight.shape) if others[0] is None else others[0],
        weight.new_zeros(weight.size(0)) if others[1] is None else others[1],
    )
    return tuple(r if want else weight.new_empty(0) for r, want in zip(results, wanted))


def _backward_kernel(*arguments: Any) -> Tuple[Tensor, ...]:
    grad, features, mask, weight, *others, groups, wanted = arguments
    if features.dim() == 4:
        features = _in_a_format(features)
    arguments = (grad, features, mask, weight, *others, groups, wanted)
    return _run_backward(arguments, rows.applies(features, weight, groups))


def _backward_meta(*arguments: Any) -> Tuple[Tensor, ...]:
    _, features, _, weight, *_, wanted = arguments
    check_backward(arguments)
    results = (
        _like(features, features.shape),
        weight.new_empty(weight.shape),
        weight.new_empty(weight.size(0)),
    )
    return tuple(r if want else weight.new_empty(0) for r, want in zip(results, wanted))


_ATTRIBUTES = "int[] padding, int[] stride, int[] dilation, int groups"
# Each argument of a call costs 1 to 3 µs, except for defaults at the end.
_OPTIONS = "int[] padding=[0, 0], int[] stride=[1, 1], int[] dilation=[1, 1], int groups=1"
_forward = register_function(
    f"masked_conv2d(Tensor features, Tensor mask, Tensor weight, Tensor? bias, {_OPTIONS}) "
    "-> Tensor",
    _kernel,
    _meta,
    Forward,
    casts=(0, 2, 3),
)
register_function(
    f"masked_conv2d_backward(Tensor grad, Tensor features, Tensor mask, Tensor weight, "
    f"{_ATTRIBUTES}, bool[] wanted) -> (Tensor, Tensor, Tensor)",
    _backward_kernel,
    _backward_meta,
    Backward,
    mask=2,
)


@torch.fx.wrap
def masked_conv2d(
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Optional[Tensor] = None,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
    dilation: BroadcastingList2[int] = 1,
    groups: int = 1,
) -> Tensor:
    """`conv2d(features, weight, bias, stride, padding, dilation, groups) * (mask > 0)`, computed
    only where the mask is positive, with gradients for features, weight and bias.

    features: [N, C, H, W]; mask: [N, h, w] or [N, 1, h, w]. The mask has the size of the result or,
    as in mmcv, of the features; its upper left part is then used, and zeros beyond it. Drop-in for
    `mmcv.ops.masked_conv2d`.

    >>> features, weight = torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3)
    >>> masked_conv2d(features, torch.eye(3)[None], weight, padding=1)[0, 0]
    tensor([[4., 0., 0.],
            [0., 9., 0.],
            [0., 0., 4.]])
    """
    if torch.jit.is_scripting():
        return torch.ops.mluops.masked_conv2d(
            features,
            mask,
            weight,
            bias,
            [padding[0], padding[1]],
            [stride[0], stride[1]],
            [dilation[0], dilation[1]],
            groups,
        )
    else:  # torch.jit.script compiles what follows a return
        if not (
            isinstance(features, Tensor) and isinstance(mask, Tensor) and isinstance(weight, Tensor)
        ):
            require_tensors("masked_conv2d", features=features, mask=mask, weight=weight)
        if bias is not None and not isinstance(bias, Tensor):
            require_tensors("masked_conv2d", bias=bias)
        if type(groups) is not int or groups.bit_length() > 63:
            groups = integer("masked_conv2d", "groups", groups)
        geometry = (
            pair("masked_conv2d", "padding", padding),
            pair("masked_conv2d", "stride", stride),
            pair("masked_conv2d", "dilation", dilation),
        )
        if geometry[1:] == ((1, 1), (1, 1)) and groups == 1:
            return _forward(features, mask, weight, bias, geometry[0])
        return _forward(features, mask, weight, bias, *geometry, groups)


class MaskedConv2d(nn.Conv2d):
    """Drop-in for `mmcv.ops.MaskedConv2d`: a convolution that takes a mask; see `masked_conv2d`.

    forward: input [N, C, H, W], mask [N, h, w] or [N, 1, h, w]; returns [N, O, h, w]. Without a
    mask it is Conv2d.

    >>> import torch
    >>> conv = MaskedConv2d(3, 8, 3, padding=1, bias=False)
    >>> conv(torch.ones(2, 3, 5, 5), torch.zeros(2, 5, 5)).abs().max().item()
    0.0
    """

    def forward(self, input: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        """See `masked_conv2d`; without a mask, Conv2d."""
        if mask is None:
            return self._conv_forward(input, self.weight, self.bias)
        padding = self.padding
        if self.padding_mode != "zeros" or isinstance(padding, str):
            raise NotImplementedError(
                f"MaskedConv2d: padding must be numbers with padding_mode 'zeros', got {padding} "
                f"with {self.padding_mode}"
            )
        return masked_conv2d(
            input,
            mask,
            self.weight,
            self.bias,
            padding,
            self.stride,
            self.dilation,
            self.groups,
        )
