# SPDX-License-Identifier: Apache-2.0
"""Draws the windows of the positions that a masked convolution computes, and its output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence, Tuple, Union

import numpy as np

from .. import arrays
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Pair = Union[int, Tuple[int, int]]


def _output_of_ones(
    features: np.ndarray, mask: Any, kernel: Pair, geometry: Tuple[Pair, ...]
) -> Any:
    """Convolves [N, 1, H, W] with a kernel of ones. geometry: stride, pad, dilation."""
    mask = np.broadcast_to(np.asarray(mask, np.float32), (len(features), *np.shape(mask)))
    weight = np.ones((1, 1, *canvas.pair(kernel)), np.float32)
    window = [value for each in geometry for value in canvas.pair(each)]
    return arrays.masked_conv2d_forward(features, mask, weight, np.zeros(1, np.float32), *window)


def masked_conv2d_windows(
    mask: Sequence[Sequence[float]],
    size: Tuple[int, int],
    kernel: Pair,
    stride: Pair = 1,
    pad: Pair = 0,
    dilation: Pair = 1,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draws the pixels of the features that the masked positions read.

    mask: [P, Q]; size: (H, W) of the features; the others: (height, width) or one number.

    >>> ax = masked_conv2d_windows([[0, 1], [1, 0]], (4, 4), 3, stride=2, pad=1)
    >>> ax.get_title()
    'features: 3 x 3 windows of 2 of 4 positions\\n11 of the 16 pixels are read'
    """
    ax, count = canvas.axes(ax), size[0] * size[1]
    one_hot = np.eye(count, dtype=np.float32).reshape(count, 1, *size)
    output = _output_of_ones(one_hot, mask, kernel, (stride, pad, dilation))[:, 0]  # [H*W, P, Q]
    masked = np.argwhere(np.asarray(mask) > 0)
    for m, (p, q) in enumerate(masked):
        color, pixels = canvas.CYCLE[m % len(canvas.CYCLE)], np.flatnonzero(output[:, p, q])
        canvas.fill(ax, np.stack(np.divmod(pixels, size[1]), 1), color, 0.35, f"position {p},{q}")
    height, width = canvas.pair(kernel)
    canvas.pixel_map(
        ax,
        size,
        f"features: {height} x {width} windows of {len(masked)} of {np.size(mask)} positions\n"
        f"{(output != 0).any((1, 2)).sum()} of the {count} pixels are read",
    )
    return ax


def masked_conv2d_output(
    mask: Sequence[Sequence[float]],
    size: Tuple[int, int],
    kernel: Pair,
    stride: Pair = 1,
    pad: Pair = 0,
    dilation: Pair = 1,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draws the output for features and a kernel of ones: the pixels that each position reads.

    Arguments as in `masked_conv2d_windows`.

    >>> ax = masked_conv2d_output([[0, 1], [1, 0]], (4, 4), 3, stride=2, pad=1)
    >>> [text.get_text() for text in ax.texts]
    ['0', '6', '6', '0']
    """
    ax = canvas.axes(ax)
    ones = np.ones((1, 1, *size), np.float32)
    output = _output_of_ones(ones, mask, kernel, (stride, pad, dilation))[0, 0].astype(int)
    canvas.pixel_map(ax, output.shape, "output of ones\n0 where the mask is not positive")
    for m, (p, q) in enumerate(np.argwhere(np.asarray(mask) > 0)):
        color = canvas.CYCLE[m % len(canvas.CYCLE)]
        canvas.fill(ax, (p, q), color, 0.35, f"position {p},{q}")
    for (p, q), value in np.ndenumerate(output):
        color = canvas.BLACK if np.asarray(mask)[p, q] > 0 else canvas.OUTSIDE
        ax.text(q, p, str(value), ha="center", va="center", fontsize=9, color=color)
    ax.set(xlabel="q (positions)", ylabel="p (positions)")
    return ax
