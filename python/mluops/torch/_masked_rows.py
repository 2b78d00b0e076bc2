# SPDX-License-Identifier: Apache-2.0
"""A masked convolution on the CPU as products of rows: the window of a masked pixel is a row.

The image is transposed to a table with a row of channels per pixel, and a row of zeros for the
padding. The windows of some pixels at a time are gathered from it and multiplied while they are in
the cache. The product of M rows is a 1x1 convolution of a channels_last image of M pixels, which
oneDNN computes. For 768 windows of 3x3x256 and 256 kernels it reaches 500 GFLOP/s, and so does
dense conv2d. MKL's matrix product reaches 235, Debian's without MKL 8 (Zen 4, 2 threads). The
result's bits depend on oneDNN.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from .._table import Table
from . import masked_im2col
from ._context import context_of
from ._memory import Scratch
from ._tensors import follows_channels_last

_TRANSPOSE = Table("transpose")
_scratch = Scratch()
# Windows of 7 MB fit into the L3 and give a product of 784 rows at 256 channels and 3x3.
_BLOCK_BYTES = 7 << 20
# oneDNN's gradient of the kernels takes 2.1 ms for 800 windows of 3x3x256 and 8.1 ms for 796.
_ROW_MULTIPLE = 16
OUTSIDE = -(1 << 30)  # the row and column of a pixel whose window lies in the padding
_MIN_CHANNELS = 16  # a row of fewer is shorter than a cache line
_MIN_ELEMENTS = 1 << 16  # smaller images are faster through masked_im2col
_TYPES = (torch.float32,) if torch.backends.mkldnn.is_available() else ()  # types of oneDNN


class Geometry(NamedTuple):
    """How windows lie in the features."""

    padding: List[int]
    stride: List[int]
    dilation: List[int]


def applies(features: Tensor, weight: Tensor, groups: int) -> bool:
    """Whether rows are faster than columns."""
    return (
        groups == 1
        and features.is_cpu
        and features.dtype in _TYPES
        and features.dim() == 4
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
    table = _scratch.empty("table", (height * width + 1, channels), image.dtype)
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
    """The windows of one image at the pixels of its mask [h, w], as rows [kernel, C]. Pixels
    outside of the image follow, up to a multiple of _ROW_MULTIPLE. Their windows are zeros."""

    def __init__(self, image: Tensor, mask: Tensor, weight: Tensor, geometry: Geometry):
        height, width = image.shape[2:]
        pixels = (mask > 0).nonzero()
        self.count = pixels.size(0)  # without the pixels outside
        extra = (0, 0, 0, -self.count % _ROW_MULTIPLE)
        pixels = torch.nn.functional.pad(pixels, extra, value=OUTSIDE)
        self.rows, self.columns = pixels.t().contiguous().unbind(0)
        y, has_y = _taps(self.rows, weight.size(2), height, geometry, 0)
        x, has_x = _taps(self.columns, weight.size(3), width, geometry, 1)
        index = y.unsqueeze(2) * width + x.unsqueeze(1)
        index.masked_fill_(~(has_y.unsqueeze(2) & has_x.unsqueeze(1)), height * width)
        self.index = index.flatten(1)  # [M, kernel]
        self.table = _table(image)
        self.padded_count, self.taps = self.index.shape
        self.length = self.taps * image.size(1)
        rows = _BLOCK_BYTES // (self.length * image.element_size())
        self.block = min(self.padded_count, max(rows // _ROW_MULTIPLE * _ROW_MULTIPLE, 64))

    def blocks(self) -> Iterator[Tuple[slice, Tensor, Tensor]]:
        """Yields a range of the masked pixels, their indices in the table and their windows as an
        image [1, kernel*C, M, 1]. The next block uses the memory of the windows again."""
        shape = self.block * self.taps, self.table.size(1)
        memory = _scratch.empty("windows", shape, self.table.dtype)
        for begin in range(0, self.padded_count, max(self.block, 1)):
            at = slice(begin, min(begin + self.block, self.padded_count))
            index = self.index[at].flatten()
            windows = memory[: index.numel()]
            torch.index_select(self.table, 0, index, out=windows)
            yield at, index, _pixels(windows.view(-1, self.length))

    def places(self, width: int) -> Tensor:
        """Returns the indices of the masked pixels in an image of this width."""
        return self.rows[: self.count] * width + self.columns[: self.count]

    def indices(self) -> Tuple[Tensor, Tensor]:
        """Returns rows and columns for the C operators, which skip pixels outside of the image."""
        return self.rows.int(), self.columns.int()


def _pixels(rows: Tensor) -> Tensor:
    """Returns M rows of C as the pixels of a channels_last image [1, C, M, 1], without a copy."""
    return rows.view(1, rows.size(0), 1, rows.size(1)).permute(0, 3, 1, 2)


def _kernels(weight: Tensor) -> Tensor:
    """Returns the weight in the order of the windows, as 1x1 kernels [O, kernel*C, 1, 1]."""
    return weight.permute(0, 2, 3, 1).reshape(weight.size(0), -1, 1, 1)


def convolve(
    image: Tensor, mask: Tensor, weight: Tensor, bias: Optional[Tensor], geometry: Geometry
) -> Tensor:
    """Convolves one image [1, C, H, W] at the pixels of its mask [h, w]."""
    source, kernels = _Windows(image, mask, weight, geometry), _kernels(weight)
    products = image.new_empty((source.padded_count, weight.size(0)))
    for at, _, windows in source.blocks():
        _pixels(products[at]).copy_(torch.conv2d(windows, kernels, bias))
    height, width = mask.shape
    if follows_channels_last(image):
        result = image.new_zeros((height * width, weight.size(0)))
        result.index_copy_(0, source.places(width), products[: source.count])
        return result.view(1, height, width, -1).permute(0, 3, 1, 2)
    columns = _transpose(products)
    return masked_im2col.KERNELS.col2im(columns, *source.indices(), height, width)


def conv2d_gradients(
    grad: Tensor, image: Tensor, kernels: Tensor, groups: int, *wanted: bool
) -> Tuple[Tensor, Tensor]:
    """Returns the gradients of the image and of the 1x1 kernels, where wanted."""
    geometry = ([1, 1], [0, 0], [1, 1], False, [0, 0])
    mask = [*wanted, False]
    found = torch.ops.aten.convolution_backward(grad, image, kernels, None, *geometry, groups, mask)
    return found[0], found[1]


def _grad_rows(grad: Tensor, source: _Windows) -> Tensor:
    """Returns the gradients of the masked pixels, [M, O], zeros for the pixels outside."""
    if follows_channels_last(grad):
        pixels = grad[0].permute(1, 2, 0).flatten(0, 1)
        rows = grad.new_zeros((source.padded_count, grad.size(1)))
        torch.index_select(pixels, 0, source.places(grad.size(3)), out=rows[: source.count])
        return rows
    return _transpose(masked_im2col.KERNELS.col2im_backward(grad, *source.indices()))


def gradients(
    grad: Tensor,
    image: Tensor,
    mask: Tensor,
    weight: Tensor,
    geometry: Geometry,
    wanted: List[bool],
) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    """Returns the gradients of image, weight and bias, or None where not wanted."""
    source, kernels = _Windows(image, mask, weight, geometry), _kernels(weight)
    rows = _grad_rows(grad, source)
    grad_table = _zero_table(image, source) if wanted[0] else None
    grad_kernels = torch.zeros_like(kernels) if wanted[1] else None
    if wanted[0] or wanted[1]:
        for at, index, windows in source.blocks():
            grad_windows, grad_kernel = conv2d_gradients(
                _pixels(rows[at]), windows, kernels, 1, wanted[0], wanted[1]
            )
            if grad_kernels is not None:
                grad_kernels += grad_kernel
            if grad_table is not None:
                grad_rows = grad_windows.permute(0, 2, 3, 1).reshape(index.numel(), -1)
                grad_table.index_add_(0, index, grad_rows)
    return (
        None if grad_table is None else _as_image(grad_table[:-1], image),
        None if grad_kernels is None else _as_weight(grad_kernels, weight),
        rows.sum(0) if wanted[2] else None,
    )


def _zero_table(image: Tensor, source: _Windows) -> Tensor:
    if follows_channels_last(image):  # the table becomes the result
        return torch.zeros_like(source.table)
    return _scratch.empty("grad_table", source.table.shape, image.dtype).zero_()


def _as_image(table: Tensor, image: Tensor) -> Tensor:
    _, channels, height, width = image.shape
    if follows_channels_last(image):
        return table.view(1, height, width, channels).permute(0, 3, 1, 2)
    return _transpose(table).view(image.shape)


def _as_weight(kernels: Tensor, weight: Tensor) -> Tensor:
    count, channels, height, width = weight.shape
    return kernels.view(count, height, width, channels).permute(0, 3, 1, 2).contiguous()
