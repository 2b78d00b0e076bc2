# SPDX-License-Identifier: Apache-2.0
"""masked_conv2d on the CPU as products of rows: the window of a masked pixel is a row.

The image is transposed to a table with a row of channels per pixel, and a row of zeros for the
padding. The windows of some pixels at a time are gathered from it and multiplied while they are in
the cache. On [1,256,100,152] with 256 kernels of 3x3 at 26 % (AVX-512, 1 thread) torch's product of
such rows takes 0.7 of the time of the product of masked_im2col's columns, and its gradient for the
windows 0.6. The result's bits depend on torch's matrix product.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from .._table import Table
from . import masked_im2col
from ._context import context_of
from ._memory import ask_for_huge_pages
from ._tensors import follows_channels_last

_TRANSPOSE = Table("transpose")
# Windows of 7 MB fit into the L3 and give torch's product 768 rows at 256 channels and 3x3. From 96
# to 1536 rows the time stays within 6 %; all 4000 at once take 1.45 of it.
_BLOCK_BYTES = 7 << 20
_MIN_CHANNELS = 16  # a row of fewer is shorter than a cache line
_MIN_ELEMENTS = 1 << 16  # smaller images are faster through masked_im2col
HAS_MKL = torch.backends.mkl.is_available()


class Geometry(NamedTuple):
    """How windows lie in the features."""

    padding: List[int]
    stride: List[int]
    dilation: List[int]


def applies(features: Tensor, weight: Tensor, groups: int) -> bool:
    """Whether rows are faster. Debian's torch, without MKL, has a slow matrix product."""
    return (
        HAS_MKL
        and groups == 1
        and features.is_cpu
        and features.dtype in (torch.float32, torch.float64)
        and features.size(1) >= _MIN_CHANNELS
        and features.numel() >= _MIN_ELEMENTS
        and weight.numel() > 0
    )


def _transpose(matrix: Tensor) -> Tensor:
    if matrix.numel() == 0:
        return matrix.t().contiguous()
    (result,) = context_of(matrix).run(_TRANSPOSE, (), (matrix.unsqueeze(0),))
    return result[0]


def _table(image: Tensor) -> Tensor:
    """Returns the pixels of an image [1, C, H, W] and a row of zeros, [H*W+1, C]."""
    channels, height, width = image.shape[1:]
    table = image.new_empty((height * width + 1, channels))
    ask_for_huge_pages(table)
    table[-1] = 0
    if image.is_contiguous():
        planes = image.view(1, channels, height * width)
        context_of(image).call(_TRANSPOSE, (), (planes, table[:-1].unsqueeze(0)))
    else:
        table[:-1].view(height, width, channels).copy_(image[0].permute(1, 2, 0))
    return table


def _taps(at: Tensor, taps: int, size: int, geometry: Geometry, axis: int) -> Tuple[Tensor, Tensor]:
    """Returns the rows (axis 0) or columns that the windows read, [M, taps], and which exist."""
    step = geometry.dilation[axis]
    offsets = torch.arange(0, taps * step, step) - geometry.padding[axis]
    position = (at * geometry.stride[axis]).unsqueeze(1) + offsets
    return position, (position >= 0) & (position < size)


class _Windows:
    """The windows of one image at the pixels of its mask [h, w], as rows [kernel, C]."""

    def __init__(self, image: Tensor, mask: Tensor, weight: Tensor, geometry: Geometry):
        height, width = image.shape[2:]
        self.rows, self.columns = (mask > 0).nonzero().t().contiguous().unbind(0)
        y, has_y = _taps(self.rows, weight.size(2), height, geometry, 0)
        x, has_x = _taps(self.columns, weight.size(3), width, geometry, 1)
        index = y.unsqueeze(2) * width + x.unsqueeze(1)
        index.masked_fill_(~(has_y.unsqueeze(2) & has_x.unsqueeze(1)), height * width)
        self.index = index.flatten(1)  # [M, kernel]
        self.table = _table(image)
        self.count, self.taps = self.index.shape
        self.length = self.taps * image.size(1)
        rows = _BLOCK_BYTES // (self.length * image.element_size())
        self.block = max(1, min(self.count, max(rows, 64)))

    def blocks(self) -> Iterator[Tuple[slice, Tensor, Tensor]]:
        """Yields a range of the masked pixels, their indices in the table and their windows. The
        memory of the windows is used again by the next block."""
        memory = self.table.new_empty((self.block * self.taps, self.table.size(1)))
        for begin in range(0, self.count, self.block):
            at = slice(begin, min(begin + self.block, self.count))
            index = self.index[at].flatten()
            windows = memory[: index.numel()]
            torch.index_select(self.table, 0, index, out=windows)
            yield at, index, windows.view(-1, self.length)


def _weight_rows(weight: Tensor) -> Tensor:
    """The weight in the order of the windows, [O, kernel*C]."""
    return weight.permute(0, 2, 3, 1).reshape(weight.size(0), -1)


def convolve(
    image: Tensor, mask: Tensor, weight: Tensor, bias: Optional[Tensor], geometry: Geometry
) -> Tensor:
    """Convolves one image [1, C, H, W] at the pixels of its mask [h, w]."""
    source, kernels = _Windows(image, mask, weight, geometry), _weight_rows(weight).t()
    products = image.new_empty((source.count, weight.size(0)))
    for at, _, windows in source.blocks():
        if bias is None:
            torch.mm(windows, kernels, out=products[at])
        else:
            torch.addmm(bias, windows, kernels, out=products[at])
    height, width = mask.shape
    if follows_channels_last(image):
        result = image.new_zeros((height * width, weight.size(0)))
        result.index_copy_(0, source.rows * width + source.columns, products)
        return result.view(1, height, width, -1).permute(0, 3, 1, 2)
    at = source.rows.int(), source.columns.int()
    return masked_im2col.KERNELS.col2im(_transpose(products), *at, height, width)


def _grad_rows(grad: Tensor, source: _Windows) -> Tensor:
    """Returns the gradients of the masked pixels, [M, O]."""
    if follows_channels_last(grad):
        rows = grad[0].permute(1, 2, 0).flatten(0, 1)
        return rows.index_select(0, source.rows * grad.size(3) + source.columns)
    at = source.rows.int(), source.columns.int()
    return _transpose(masked_im2col.KERNELS.col2im_backward(grad, *at))


def gradients(
    grad: Tensor,
    image: Tensor,
    mask: Tensor,
    weight: Tensor,
    geometry: Geometry,
    wanted: List[bool],
) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    """Returns the gradients of image, weight and bias, or None where not wanted."""
    source, kernels = _Windows(image, mask, weight, geometry), _weight_rows(weight)
    rows = _grad_rows(grad, source)
    grad_table = torch.zeros_like(source.table) if wanted[0] else None
    grad_kernels = torch.zeros_like(kernels) if wanted[1] else None
    if wanted[0] or wanted[1]:
        for at, index, windows in source.blocks():
            if grad_kernels is not None:
                grad_kernels.addmm_(rows[at].t(), windows)
            if grad_table is not None:
                # The windows of this block are no longer needed.
                torch.mm(rows[at], kernels, out=windows)
                grad_table.index_add_(0, index, windows.view(index.numel(), -1))
    return (
        None if grad_table is None else _as_image(grad_table[:-1], image),
        None if grad_kernels is None else _as_weight(grad_kernels, weight),
        rows.sum(0) if wanted[2] else None,
    )


def _as_image(table: Tensor, image: Tensor) -> Tensor:
    _, channels, height, width = image.shape
    if follows_channels_last(image):
        return table.view(1, height, width, channels).permute(0, 3, 1, 2)
    return _transpose(table).view(image.shape)


def _as_weight(kernels: Tensor, weight: Tensor) -> Tensor:
    count, channels, height, width = weight.shape
    return kernels.view(count, height, width, channels).permute(0, 3, 1, 2).contiguous()
