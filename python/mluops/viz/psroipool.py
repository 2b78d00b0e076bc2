# SPDX-License-Identifier: Apache-2.0
"""Draws the bins of a RoI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence, Tuple, Union

import numpy as np

from .. import arrays
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _bin_gradient(
    roi: np.ndarray,
    size: Tuple[int, int],
    pooled: Tuple[int, int],
    scale: float,
    semantics: str,
    i: int,
    j: int,
) -> np.ndarray:
    """Returns the weight of each element of the map in bin (i, j): [H, W, C]."""
    channels = pooled[0] * pooled[1]
    if semantics == "rfcn":
        grad = np.zeros((1, *pooled, 1), np.float32)
        grad[0, i, j] = 1
        shape = (1, *size, channels)
        mapping = arrays.psroipool_forward(
            np.zeros(shape, np.float32), roi, *pooled, scale, pooled[0], 1
        )[1]
        return arrays.psroipool_backward(grad, roi, mapping, *pooled, scale, 1, shape)[0]
    if semantics != "torchvision":
        raise ValueError(
            f'psroipool_bins: semantics must be "rfcn" or "torchvision", got {semantics!r}'
        )
    grad = np.zeros((1, 1, *pooled), np.float32)
    grad[0, 0, i, j] = 1
    return arrays.torchvision_ps_roi_pool_backward(grad, roi, *pooled, scale, (1, channels, *size))[
        0
    ].transpose(1, 2, 0)


def psroipool_bins(
    roi: Sequence[float],
    size: Tuple[int, int],
    pooled: Union[int, Tuple[int, int]],
    spatial_scale: float = 1.0,
    *,
    semantics: str = "rfcn",
    ax: Axes | None = None,
) -> Axes:
    """Draws the bins of a RoI: the pixels that each averages, and the channel.

    roi: (x1, y1, x2, y2); size: (H, W) of the map; pooled: (height, width) or one number;
    semantics "rfcn" (`psroipool_forward`) or "torchvision" (`torchvision_ps_roi_pool_forward`).
    The channels are for output_dim 1. Pixel i spans from i to i+1.

    >>> ax = psroipool_bins((2, 2, 7, 7), (8, 8), 3, semantics="torchvision")
    >>> ax.get_title()
    'torchvision: 3 x 3 bins of a roi\\n39 of the 64 pixels are read by no bin of it'
    """
    ax, pooled = canvas.axes(ax), canvas.pair(pooled)
    rois = np.array([[0, *roi]], np.float32)
    bins = {
        (i, j): _bin_gradient(rois, size, pooled, spatial_scale, semantics, i, j)
        for i, j in np.ndindex(*pooled)
    }
    reads = np.sum([gradient.any(axis=2) for gradient in bins.values()], axis=0)  # [H, W]
    for (i, j), gradient in bins.items():
        ys, xs, channels = np.nonzero(gradient)
        if not len(ys):
            continue
        color = (canvas.BLUE, canvas.ORANGE, canvas.GREEN, canvas.PURPLE)[i % 2 * 2 + j % 2]
        canvas.fill(ax, np.stack([ys, xs], axis=1) + 0.5, color, 0.33, f"bin {i},{j}")
        canvas.frame(ax, ys + 0.5, xs + 0.5, color, 0.06 + 0.07 * ((i + j) % 2))
        # The name is at the first pixel that only this bin reads. No grid line crosses it.
        own = np.nonzero(reads[ys, xs] == 1)[0]
        at = own[0] if len(own) else 0
        ax.text(
            xs[at] + 0.5,
            ys[at] + 0.5,
            f"bin {i},{j}\nch {channels[at]}",
            ha="center",
            va="center",
            fontsize=7.5,
        )
    name = "R-FCN" if semantics == "rfcn" else semantics
    canvas.pixel_map(
        ax,
        size,
        f"{name}: {pooled[0]} x {pooled[1]} bins of a roi\n"
        f"{(reads == 0).sum()} of the {reads.size} pixels are read by no bin of it",
        0.5,
    )
    x1, y1, x2, y2 = (spatial_scale * value for value in roi)
    ax.add_patch(
        canvas.matplotlib().patches.Rectangle(
            (x1, y1),
            x2 - x1,
            y2 - y1,
            fill=False,
            linestyle="--",
            edgecolor=canvas.BLACK,
            linewidth=1.6,
        )
    )
    ax.set(
        xlim=(min(0, x1) - 0.2, max(size[1], x2) + 0.2),
        xticks=range(size[1] + 1),
        ylim=(max(size[0], y2) + 0.2, min(0, y1) - 0.2),
        yticks=range(size[0] + 1),
        xlabel="x (pixels; pixel i lies between i and i+1)",
    )
    handles = [
        canvas.line(
            "roi as given" + ("" if spatial_scale == 1 else f", times {spatial_scale:g}"),
            color=canvas.BLACK,
            linestyle="--",
            linewidth=1.6,
        ),
        canvas.patch("pixels of a bin, read in channel ch", canvas.BLUE, 0.33),
        canvas.patch("read by no bin", canvas.MAP, edgecolor=canvas.LINE),
    ]
    if (reads > 1).any():
        ys, xs = np.nonzero(reads > 1)
        ax.plot(xs + 0.5, ys + 0.5, "o", color=canvas.BLACK, markersize=3, label="_shared")
        handles.append(
            canvas.line(
                "pixel of several bins", color=canvas.BLACK, marker="o", linestyle="", markersize=3
            )
        )
    empty = sum(not gradient.any() for gradient in bins.values())
    if empty:
        handles.append(canvas.patch(f"empty bins, their output is 0: {empty}", "none"))
    canvas.legend(ax, handles)
    return ax
