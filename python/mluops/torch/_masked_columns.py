# SPDX-License-Identifier: Apache-2.0
"""masked_conv2d as products of masked_im2col's columns: for every device, type and group."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from ._masked_rows import OUTSIDE, Geometry, conv2d_gradients
from ._tensors import in_format_of
from .masked_im2col import KERNELS

# Debian's torch, without MKL, has a slow matrix product. Its conv2d is six times as fast.
_HAS_MKL = torch.backends.mkl.is_available()
# cuBLAS multiplies half matrices on tensor cores only if their rows are aligned to 16 bytes.
_COLUMN_MULTIPLE = 64


def _taps(kernel: Sequence[int], geometry: Geometry) -> List[List[int]]:
    """The padding that moves a window of one pixel to each kernel element."""
    padding, dilation = geometry.padding, geometry.dilation
    return [
        [padding[0] - i * dilation[0], padding[1] - j * dilation[1]]
        for i in range(kernel[0])
        for j in range(kernel[1])
    ]


def _columns(
    image: Tensor, at: Tuple[Tensor, Tensor], weight: Tensor, geometry: Geometry
) -> Tensor:
    """Returns the windows at M pixels of an image [1, C, H, W]: [C*kernel, M]."""
    kernel = list(weight.shape[2:])
    if geometry.dilation == [1, 1]:
        return KERNELS.im2col(image, *at, kernel, geometry.padding)
    taps = [KERNELS.im2col(image, *at, [1, 1], shift) for shift in _taps(kernel, geometry)]
    return torch.stack(taps, dim=1).flatten(0, 1)


def _add_columns(
    windows: Tensor,
    at: Tuple[Tensor, Tensor],
    image: Tensor,
    weight: Tensor,
    geometry: Geometry,
) -> Tensor:
    """The adjoint of _columns: adds the windows into an image."""
    kernel, size = list(weight.shape[2:]), image.shape[2:]
    if geometry.dilation == [1, 1]:
        return KERNELS.im2col_backward(windows, *at, kernel, geometry.padding, *size)
    taps = windows.view(image.size(1), kernel[0] * kernel[1], windows.size(1))
    result = torch.zeros_like(image)
    for i, shift in enumerate(_taps(kernel, geometry)):
        result += KERNELS.im2col_backward(taps[:, i], *at, [1, 1], shift, *size)
    return result


def _as_image(columns: Tensor) -> Tensor:
    return columns.view(1, columns.size(0), 1, columns.size(1))


def _multiply_by_conv2d(weight: Tensor, windows: Tensor, groups: int) -> Tensor:
    kernel = weight.reshape(weight.size(0), -1, 1, 1)
    return torch.nn.functional.conv2d(_as_image(windows), kernel, groups=groups)[0, :, 0]


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    """a @ b of [groups, ...]. Old torch has no half matmul on the CPU."""
    if a.dtype == torch.float16 and a.is_cpu:
        return _matmul(a.float(), b.float()).to(torch.float16)
    return torch.mm(a[0], b[0]).unsqueeze(0) if a.size(0) == 1 else torch.bmm(a, b)


def _by_group(weight: Tensor, groups: int) -> Tensor:
    """[O, C/groups, kernel] as [groups, O/groups, terms], also without channels."""
    return weight.reshape(groups, weight.size(0) // groups, weight[0].numel())


def _product(weight: Tensor, windows: Tensor, groups: int) -> Tensor:
    """weight: [O, C/groups, kernel]; windows: [C*kernel, M]. Returns [O, M]."""
    if not _HAS_MKL and windows.is_cpu and windows.numel() > 0:
        if windows.dtype == torch.float16:
            product = _multiply_by_conv2d(weight.float(), windows.float(), groups)
            return product.to(torch.float16)
        return _multiply_by_conv2d(weight, windows, groups)
    if groups == 1 and windows.dtype != torch.float16:
        return torch.mm(weight.reshape(weight.size(0), -1), windows)
    a = _by_group(weight, groups)
    return _matmul(a, windows.view(groups, a.size(2), windows.size(1))).flatten(0, 1)


def _product_gradients(
    grad: Tensor, weight: Tensor, windows: Tensor, groups: int
) -> Tuple[Tensor, Tensor]:
    """Returns the gradients of windows and weight; grad: [O, M]."""
    if not _HAS_MKL and windows.is_cpu and windows.numel() > 0:
        if windows.dtype == torch.float16:
            found = _product_gradients(grad.float(), weight.float(), windows.float(), groups)
            return found[0].to(torch.float16), found[1].to(torch.float16)
        kernel = weight.reshape(weight.size(0), -1, 1, 1)
        found = conv2d_gradients(_as_image(grad), _as_image(windows), kernel, groups, True, True)
        return found[0].view(windows.shape), found[1].view(weight.shape)
    kernels = _by_group(weight, groups)
    grouped = grad.view(groups, kernels.size(1), grad.size(1))
    columns = windows.view(groups, kernels.size(2), windows.size(1))
    grad_weight = _matmul(grouped, columns.transpose(1, 2))
    grad_windows = _matmul(kernels.transpose(1, 2), grouped).flatten(0, 1)
    return grad_windows, grad_weight.view(weight.shape)


def _padded(pixels: Tensor) -> Tuple[Tensor, Tensor]:
    """Returns packed int32 rows and columns, as the C operators take them. Pixels outside of the
    image follow, up to a multiple of _COLUMN_MULTIPLE. Their windows are zeros."""
    count = pixels.size(1)
    extra = -count % _COLUMN_MULTIPLE
    if extra:
        result = pixels.new_full((2, count + extra), OUTSIDE, dtype=torch.int32)
        result[:, :count] = pixels
    else:
        result = pixels.to(torch.int32, memory_format=torch.contiguous_format)
    rows, columns = result.unbind(0)
    return rows, columns


def _masked_pixels(
    mask: Tensor, stride: List[int]
) -> Tuple[Tuple[Tensor, Tensor], Tuple[Tensor, Tensor]]:
    """Returns the pixels of the mask, and where their windows start in the padded features."""
    if not mask.is_cuda:  # fewer calls of torch
        y, x = torch.where(mask > 0)[-2:]
        rows, columns = y.int(), x.int()
        if stride == [1, 1]:
            return (rows, columns), (rows, columns)
        return (rows, columns), (rows * stride[0], columns * stride[1])
    pixels = (mask > 0).nonzero().t()[-2:]
    padded = _padded(pixels)
    if stride == [1, 1]:
        return padded, padded
    return padded, _padded(torch.stack([pixels[0] * stride[0], pixels[1] * stride[1]]))


def convolve(
    image: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Optional[Tensor],
    geometry: Geometry,
    groups: int,
) -> Tensor:
    """Convolves one image [1, C, H, W] at the pixels of its mask [h, w] or [1, h, w]."""
    pixels, at = _masked_pixels(mask, geometry.stride)
    windows = _columns(image, at, weight, geometry)
    products = _product(weight, windows, groups)
    if bias is not None:
        products += bias.unsqueeze(1)
    return in_format_of(image, KERNELS.col2im(products, *pixels, *mask.shape[-2:]))


def gradients(
    grad: Tensor,
    image: Tensor,
    mask: Tensor,
    weight: Tensor,
    geometry: Geometry,
    groups: int,
) -> Tuple[Tensor, Tensor, Tensor]:
    """Returns the gradients of image, weight and bias."""
    pixels, at = _masked_pixels(mask, geometry.stride)
    products = KERNELS.col2im_backward(grad, *pixels)  # [O, M]
    windows = _columns(image, at, weight, geometry)
    grad_windows, grad_weight = _product_gradients(products, weight, windows, groups)
    grad_image = _add_columns(grad_windows, at, image, weight, geometry)
    return in_format_of(image, grad_image), grad_weight, products.sum(1)
