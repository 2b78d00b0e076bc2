# SPDX-License-Identifier: Apache-2.0
"""A convolution that is computed only at the pixels of a mask."""

from __future__ import annotations

from typing import Iterable, List, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from . import _register  # noqa: F401  (torch.ops.mluops)

Size = Union[int, Sequence[int]]


def pair(value: Size) -> Tuple[int, int]:
    first, second = value if isinstance(value, Iterable) else (value, value)
    return int(first), int(second)


def _columns(
    image: Tensor,
    rows: Tensor,
    columns: Tensor,
    kernel: Tuple[int, int],
    padding: Tuple[int, int],
    dilation: Tuple[int, int],
) -> Tensor:
    """Returns the windows at M pixels of an image [1, C, H, W]: [C*kernel, M]."""
    im2col = torch.ops.mluops.masked_im2col
    if dilation == (1, 1):
        return im2col(image, rows, columns, list(kernel), list(padding))
    # One kernel element at a time: a window of one pixel, shifted by the padding.
    taps = [
        im2col(
            image,
            rows,
            columns,
            [1, 1],
            [padding[0] - i * dilation[0], padding[1] - j * dilation[1]],
        )
        for i in range(kernel[0])
        for j in range(kernel[1])
    ]
    return torch.stack(taps, dim=1).flatten(0, 1)


def _product(weight: Tensor, windows: Tensor, groups: int) -> Tensor:
    """weight: [O, C/groups, kernel]; windows: [C*kernel, M]. Returns [O, M]."""
    dtype = windows.dtype
    if dtype == torch.float16 and windows.is_cpu:  # old torch has no half matmul on the CPU
        return _product(weight.float(), windows.float(), groups).to(dtype)
    if not torch.backends.mkl.is_available() and windows.is_cpu and windows.size(1):
        # In Debian's torch, without MKL, conv2d is six times as fast as a matrix product.
        image = windows.view(1, windows.size(0), 1, windows.size(1))
        kernel = weight.reshape(weight.size(0), -1, 1, 1)
        return torch.nn.functional.conv2d(image, kernel, groups=groups)[0, :, 0]
    if groups == 1:
        return torch.mm(weight.reshape(weight.size(0), -1), windows)
    return torch.bmm(
        weight.reshape(groups, weight.size(0) // groups, -1),
        windows.view(groups, windows.size(0) // groups, windows.size(1)),
    ).flatten(0, 1)


def masked_conv2d(
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Optional[Tensor] = None,
    padding: Size = 0,
    stride: Size = 1,
    dilation: Size = 1,
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
    assert features.dim() == 4
    if mask.dim() == 4:
        assert mask.size(1) == 1
        mask = mask[:, 0]
    assert mask.dim() == 3 and mask.size(0) == features.size(0)
    pads, strides, dilations = pair(padding), pair(stride), pair(dilation)
    out_channels, group_channels, *kernel = weight.shape
    assert features.size(1) == group_channels * groups and out_channels % groups == 0
    assert bias is None or bias.shape == (out_channels,)
    assert min(strides) > 0 and min(dilations) > 0
    height, width = (
        (features.size(2 + i) + 2 * pads[i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1
        for i in (0, 1)
    )
    assert height > 0 and width > 0, "the kernel must fit into the padded features"
    assert mask.shape[1:] in (features.shape[2:], (height, width))
    mask = mask[:, :height, :width]

    images: List[Tensor] = []
    for image, here in zip(features.split(1), mask):
        rows, columns = (here > 0).nonzero(as_tuple=True)
        windows = _columns(
            image,
            rows * strides[0],
            columns * strides[1],
            (kernel[0], kernel[1]),
            pads,
            dilations,
        )
        products = _product(weight, windows, groups)
        if bias is not None:
            products = products + bias[:, None].to(products.dtype)
        images.append(torch.ops.mluops.masked_col2im(products, rows, columns, height, width))
    if not images:
        return features.new_empty((0, out_channels, height, width))
    return torch.cat(images) if len(images) > 1 else images[0]
