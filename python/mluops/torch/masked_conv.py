# SPDX-License-Identifier: Apache-2.0
"""masked_conv2d: a convolution that is computed only at the pixels of a mask."""

from __future__ import annotations

from typing import List, Optional, Tuple

import torch
from torch import Tensor, nn
from torch.jit.annotations import BroadcastingList2

from . import masked_im2col  # noqa: F401  (torch.ops.mluops.masked_im2col)
from ._arguments import pair, require_tensors

_HAS_MKL = torch.backends.mkl.is_available()


def _columns(
    image: Tensor,
    rows: Tensor,
    columns: Tensor,
    kernel: List[int],
    padding: List[int],
    dilation: List[int],
) -> Tensor:
    """Returns the windows at M pixels of an image [1, C, H, W]: [C*kernel, M]."""
    if dilation[0] == 1 and dilation[1] == 1:
        return torch.ops.mluops.masked_im2col(image, rows, columns, kernel, padding)
    # One kernel element at a time: a window of one pixel, shifted by the padding.
    taps: List[Tensor] = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            shift = [padding[0] - i * dilation[0], padding[1] - j * dilation[1]]
            taps.append(torch.ops.mluops.masked_im2col(image, rows, columns, [1, 1], shift))
    return torch.stack(taps, dim=1).flatten(0, 1)


def _multiply_by_conv2d(weight: Tensor, windows: Tensor, groups: int) -> Tensor:
    image = windows.view(1, windows.size(0), 1, windows.size(1))
    kernel = weight.reshape(weight.size(0), -1, 1, 1)
    return torch.nn.functional.conv2d(image, kernel, groups=groups)[0, :, 0]


def _multiply(weight: Tensor, windows: Tensor, groups: int) -> Tensor:
    if torch.jit.is_scripting():
        pass
    elif not _HAS_MKL and windows.is_cpu and windows.size(1) > 0:
        # In Debian's torch, without MKL, conv2d is six times as fast as a matrix product.
        return _multiply_by_conv2d(weight, windows, groups)
    if groups == 1:
        return torch.mm(weight.reshape(weight.size(0), -1), windows)
    return torch.bmm(
        weight.reshape(groups, weight.size(0) // groups, -1),
        windows.view(groups, windows.size(0) // groups, windows.size(1)),
    ).flatten(0, 1)


def _product(weight: Tensor, windows: Tensor, groups: int) -> Tensor:
    """weight: [O, C/groups, kernel]; windows: [C*kernel, M]. Returns [O, M]. Weights and features
    of different types raise a RuntimeError, as in conv2d."""
    if windows.dtype == torch.float16 and weight.dtype == torch.float16 and windows.is_cpu:
        # Old torch has no half matmul on the CPU.
        return _multiply(weight.float(), windows.float(), groups).to(torch.float16)
    return _multiply(weight, windows, groups)


def _convolve(
    image: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Optional[Tensor],
    geometry: Tuple[List[int], List[int], List[int]],
    groups: int,
) -> Tensor:
    """Convolves one image [1, C, H, W] at the pixels of its mask [h, w]."""
    padding, stride, dilation = geometry
    # int32 rows and columns, each packed, as the C operators take them
    rows, columns = (mask > 0).nonzero().to(torch.int32).t().contiguous().unbind(0)
    at_rows = rows if stride[0] == 1 else rows * stride[0]
    at_columns = columns if stride[1] == 1 else columns * stride[1]
    kernel = [weight.size(2), weight.size(3)]
    windows = _columns(image, at_rows, at_columns, kernel, padding, dilation)
    products = _product(weight, windows, groups)
    if bias is not None:
        column = bias.unsqueeze(1)
        products = products + (
            column if column.dtype == products.dtype else column.to(products.dtype)
        )
    return torch.ops.mluops.masked_col2im(products, rows, columns, mask.size(0), mask.size(1))


def _check_shapes(
    features: Tensor, mask: Tensor, weight: Tensor, bias: Optional[Tensor], groups: int
) -> None:
    if features.dim() != 4 or weight.dim() != 4:
        raise ValueError(
            f"masked_conv2d: features and weight must have 4 dims, got {features.dim()} and "
            f"{weight.dim()}"
        )
    if mask.dim() != 3 or mask.size(0) != features.size(0):
        raise ValueError(
            f"masked_conv2d: mask must have shape [N, h, w] or [N, 1, h, w] with N = "
            f"{features.size(0)}, got {list(mask.shape)}"
        )
    if features.size(1) != weight.size(1) * groups or weight.size(0) % groups != 0:
        raise ValueError(
            f"masked_conv2d: weight must be [O, C/groups, kernel_h, kernel_w] with C = "
            f"{features.size(1)} and groups = {groups}, got {list(weight.shape)}"
        )
    if bias is not None and (bias.dim() != 1 or bias.size(0) != weight.size(0)):
        raise ValueError(
            f"masked_conv2d: bias must have shape [{weight.size(0)}], got {list(bias.shape)}"
        )


def _output_size(
    features: Tensor, weight: Tensor, geometry: Tuple[List[int], List[int], List[int]]
) -> List[int]:
    padding, stride, dilation = geometry
    if min(stride[0], stride[1], dilation[0], dilation[1]) < 1:
        raise ValueError(
            f"masked_conv2d: stride and dilation must be >= 1, got {stride} and {dilation}"
        )
    size: List[int] = []
    for i in range(2):
        extent = dilation[i] * (weight.size(2 + i) - 1) + 1
        size.append((features.size(2 + i) + 2 * padding[i] - extent) // stride[i] + 1)
    if size[0] < 1 or size[1] < 1:
        raise ValueError(
            f"masked_conv2d: the kernel must fit into the padded features, got features "
            f"{list(features.shape)}, weight {list(weight.shape)}, padding {padding}"
        )
    return size


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
    as in mmcv, of the features; its upper left part is then used. Drop-in for
    `mmcv.ops.masked_conv2d`.

    >>> features, weight = torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3)
    >>> masked_conv2d(features, torch.eye(3)[None], weight, padding=1)[0, 0]
    tensor([[4., 0., 0.],
            [0., 9., 0.],
            [0., 0., 4.]])
    """
    if torch.jit.is_scripting():
        geometry = (
            [padding[0], padding[1]],
            [stride[0], stride[1]],
            [dilation[0], dilation[1]],
        )
    else:
        if not (
            isinstance(features, Tensor) and isinstance(mask, Tensor) and isinstance(weight, Tensor)
        ):
            require_tensors("masked_conv2d", features=features, mask=mask, weight=weight)
        geometry = (
            list(pair("masked_conv2d", "padding", padding)),
            list(pair("masked_conv2d", "stride", stride)),
            list(pair("masked_conv2d", "dilation", dilation)),
        )
    if mask.dim() == 4 and mask.size(1) == 1:
        mask = mask[:, 0]
    _check_shapes(features, mask, weight, bias, groups)
    height, width = _output_size(features, weight, geometry)
    if mask.size(1) != height or mask.size(2) != width:
        if mask.size(1) != features.size(2) or mask.size(2) != features.size(3):
            raise ValueError(
                f"masked_conv2d: mask must have the size of the result, {height} x {width}, or of "
                f"the features, got {mask.size(1)} x {mask.size(2)}"
            )
        mask = mask[:, :height, :width]
    if features.size(0) == 1:
        return _convolve(features, mask[0], weight, bias, geometry, groups)
    images: List[Tensor] = []
    for i in range(features.size(0)):
        images.append(_convolve(features[i : i + 1], mask[i], weight, bias, geometry, groups))
    if len(images) == 0:
        return features.new_empty([0, weight.size(0), height, width])
    return torch.cat(images)


class MaskedConv2d(nn.Conv2d):
    """Drop-in for `mmcv.ops.MaskedConv2d`: a convolution that takes a mask; see `masked_conv2d`.

    >>> import torch
    >>> conv = MaskedConv2d(3, 8, 3, padding=1, bias=False)
    >>> conv(torch.ones(2, 3, 5, 5), torch.zeros(2, 5, 5)).abs().max().item()
    0.0
    """

    def forward(self, input: Tensor, mask: Optional[Tensor] = None) -> Tensor:
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
