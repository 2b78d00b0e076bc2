# SPDX-License-Identifier: Apache-2.0
"""Draws the windows around masked pixels, and the matrix of their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence, Tuple, Union

import numpy as np

from .. import arrays
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _window_reads(
    rows: np.ndarray,
    columns: np.ndarray,
    size: Tuple[int, int],
    kernel: Tuple[int, int],
    pad: Tuple[int, int],
) -> np.ndarray:
    """Returns the pixels that the window of each mask reads: [M, H, W]."""
    count = len(rows)
    # One channel per mask: in channel m only the gradient of column m is 1.
    grad = np.eye(count, dtype=np.float32).repeat(kernel[0] * kernel[1], axis=0)
    return arrays.masked_im2col_backward(grad, rows, columns, *kernel, *pad, *size)[0] > 0


def masked_im2col_windows(
    mask_h_idx: Sequence[int],
    mask_w_idx: Sequence[int],
    size: Tuple[int, int],
    kernel: Union[int, Tuple[int, int]],
    pad: Union[int, Tuple[int, int]],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draws the windows around the masked pixels.

    mask_h_idx, mask_w_idx: [M]; size: (H, W) of the map; kernel and pad: (height, width) or one
    number. Outside the map a window holds zeros.

    >>> ax = masked_im2col_windows([0, 2], [1, 4], (5, 7), 3, 1)
    >>> ax.get_title()
    'masked_im2col: 3 x 3 windows of 2 masks\\n15 of the 35 pixels are read'
    """
    ax, kernel, pad = canvas.axes(ax), canvas.pair(kernel), canvas.pair(pad)
    rows, columns = np.asarray(mask_h_idx, np.int32), np.asarray(mask_w_idx, np.int32)
    reads = _window_reads(rows, columns, size, kernel, pad)
    margin = np.array(
        [
            np.ceil(max(0, -at.min(), at.max() - size[i])) + kernel[i] + abs(pad[i])
            for i, at in enumerate((rows, columns))
        ],
        np.int32,
    )
    wide = _window_reads(
        rows + margin[0], columns + margin[1], tuple(size + 2 * margin), kernel, pad
    )
    ends = []
    for m, (inside, window) in enumerate(zip(reads, wide)):
        color = canvas.CYCLE[m % len(canvas.CYCLE)]
        canvas.fill(ax, np.argwhere(inside), color, 0.3, f"mask {m}")
        ys, xs = np.nonzero(window)
        ys, xs = ys - margin[0], xs - margin[1]
        for y, x in zip(ys, xs):
            if not (0 <= y < size[0] and 0 <= x < size[1]):
                ax.text(x, y, "0", ha="center", va="center", fontsize=8, color=canvas.OUTSIDE)
        canvas.frame(ax, ys, xs, color, 0.03 + 0.05 * (m % 3), 1.8)
        ax.plot(
            columns[m],
            rows[m],
            "o",
            color=color,
            markersize=13,
            markeredgecolor=canvas.BLACK,
            markeredgewidth=0.8,
        )
        ax.text(
            columns[m],
            rows[m],
            str(m),
            ha="center",
            va="center_baseline",
            fontsize=8,
            color="white"
            if color in (canvas.BLUE, canvas.GREEN, canvas.VERMILION, canvas.BLACK)
            else canvas.BLACK,
        )
        ends.append((ys.min(), xs.min(), ys.max(), xs.max()))
    canvas.pixel_map(
        ax,
        size,
        f"masked_im2col: {kernel[0]} x {kernel[1]} windows of {len(rows)} masks\n"
        f"{reads.any(axis=0).sum()} of the {size[0] * size[1]} pixels are read",
    )
    low, high = np.min(ends, axis=0)[:2], np.max(ends, axis=0)[2:]
    ax.set(
        xlim=(min(0, low[1]) - 0.7, max(size[1] - 1, high[1]) + 0.7),
        ylim=(max(size[0] - 1, high[0]) + 0.7, min(0, low[0]) - 0.7),
    )
    canvas.legend(
        ax,
        [
            canvas.line(
                "mask m",
                color="white",
                marker="o",
                markeredgecolor=canvas.BLACK,
                linestyle="",
                markersize=9,
            ),
            canvas.patch("its window", canvas.BLUE, 0.3, edgecolor=canvas.BLUE),
            canvas.line("outside the map", color=canvas.OUTSIDE, marker="$0$", linestyle=""),
        ],
        3,
    )
    return ax


def masked_im2col_columns(
    mask_h_idx: Sequence[int],
    mask_w_idx: Sequence[int],
    size: Tuple[int, int],
    kernel: Union[int, Tuple[int, int]],
    pad: Union[int, Tuple[int, int]],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draws the matrix data_col of one channel: a column per mask, a row per kernel element.

    Arguments as in `masked_im2col_windows`. An entry shows the pixel y,x from which it is copied.

    >>> ax = masked_im2col_columns([0, 2], [1, 4], (5, 7), 3, 1)
    >>> ax.get_title()
    'data_col of one channel\\nentries: pixel y,x of the map'
    """
    ax, kernel, pad = canvas.axes(ax), canvas.pair(kernel), canvas.pair(pad)
    rows, columns = np.asarray(mask_h_idx, np.int32), np.asarray(mask_w_idx, np.int32)
    feature = np.arange(1, size[0] * size[1] + 1, dtype=np.float32).reshape(1, 1, *size)
    col = arrays.masked_im2col_forward(feature, rows, columns, *kernel, *pad)
    canvas.pixel_map(ax, col.shape, "data_col of one channel\nentries: pixel y,x of the map")
    for (row, m), value in np.ndenumerate(col.astype(int)):
        name = "0"
        if value:
            name = "{},{}".format(*divmod(value - 1, size[1]))
            canvas.fill(
                ax,
                (row, m),
                canvas.CYCLE[m % len(canvas.CYCLE)],
                0.3,
                f"row {row} mask {m} pixel {name}",
            )
        ax.text(
            m,
            row,
            name,
            ha="center",
            va="center",
            fontsize=7.5,
            color=canvas.BLACK if value else canvas.OUTSIDE,
        )
    ax.set(
        xlabel="mask m",
        ylabel=f"row i*{kernel[1]}+j",
        xticks=range(col.shape[1]),
        yticks=range(col.shape[0]),
    )
    return ax
