# SPDX-License-Identifier: Apache-2.0
"""Draws the mask of a pixel, on the map and in the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Tuple

import numpy as np

from .. import arrays
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _mask_places(
    pixel: Tuple[int, int], size: Tuple[int, int], mask: Tuple[int, int], psa_type: int
) -> np.ndarray:
    """Returns y [H*W, H*W] for a mask whose elements are 1, 2, ... at one pixel and 0 elsewhere."""
    x = np.zeros((1, *size, mask[0] * mask[1]), np.float32)
    x[0, pixel[0], pixel[1]] = np.arange(1, x.shape[3] + 1)
    pixels = size[0] * size[1]
    return arrays.psamask_forward(x, psa_type, *mask).reshape(pixels, pixels)


def psamask_window(
    pixel: Tuple[int, int], size: Tuple[int, int], mask: Tuple[int, int], *, ax: Axes | None = None
) -> Axes:
    """Draws the mask of one pixel on the map: the mask element of each neighbour.

    pixel: (h, w); size: (H, W) of the map; mask: (h_mask, w_mask).

    >>> ax = psamask_window((0, 1), (3, 4), (3, 3))
    >>> ax.get_title()
    'psamask: the 3 x 3 mask of pixel (0, 1)\\n6 of its 9 elements are on the map'
    """
    ax = canvas.axes(ax)
    on_map = _mask_places(pixel, size, mask, 0)[pixel[0] * size[1] + pixel[1]].reshape(size)
    # The same pixel on a map with a margin, which shows all elements of the mask.
    wide_size = (size[0] + 2 * mask[0], size[1] + 2 * mask[1])
    wide_pixel = (pixel[0] + mask[0], pixel[1] + mask[1])
    wide = _mask_places(wide_pixel, wide_size, mask, 0)[
        wide_pixel[0] * wide_size[1] + wide_pixel[1]
    ].reshape(wide_size)
    canvas.fill(ax, np.argwhere(on_map), canvas.BLUE, 0.35, "elements")
    canvas.pixel_map(
        ax,
        size,
        f"psamask: the {mask[0]} x {mask[1]} mask of pixel ({pixel[0]}, {pixel[1]})\n"
        f"{np.count_nonzero(on_map)} of its {mask[0] * mask[1]} elements are on the map",
    )
    ys, xs = np.nonzero(wide)
    for y, x in zip(ys - mask[0], xs - mask[1]):
        inside = 0 <= y < size[0] and 0 <= x < size[1]
        ax.text(
            x,
            y,
            int(wide[y + mask[0], x + mask[1]]) - 1,
            ha="center",
            va="center",
            fontsize=9,
            color=canvas.BLACK if inside else canvas.OUTSIDE,
        )
    canvas.frame(ax, ys - mask[0], xs - mask[1], canvas.BLUE, 0)
    canvas.frame(ax, pixel[0], pixel[1], canvas.VERMILION, 0.1)
    ax.set(
        xlim=(
            min(-0.5, xs.min() - mask[1] - 0.5) - 0.2,
            max(size[1] - 0.5, xs.max() - mask[1] + 0.5) + 0.2,
        ),
        ylim=(
            max(size[0] - 0.5, ys.max() - mask[0] + 0.5) + 0.2,
            min(-0.5, ys.min() - mask[0] - 0.5) - 0.2,
        ),
    )
    canvas.legend(
        ax,
        [
            canvas.patch("the pixel", "none", edgecolor=canvas.VERMILION, linewidth=1.6),
            canvas.patch("element k of its mask, used", canvas.BLUE, 0.35),
            canvas.patch("outside (grey k): not used", "none", edgecolor=canvas.BLUE),
        ],
        1,
    )
    return ax


def psamask_matrix(
    pixel: Tuple[int, int],
    size: Tuple[int, int],
    mask: Tuple[int, int],
    psa_type: int,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draws the positions of one pixel's mask elements in y, as a matrix of pixels x channels.

    pixel: (h, w); size: (H, W) of the map; mask: (h_mask, w_mask); psa_type 0 (collect) or 1
    (distribute). Collect fills the pixel's row, distribute its column.

    >>> ax = psamask_matrix((0, 1), (3, 4), (3, 3), 1)
    >>> ax.get_title()
    'distribute: y[h, w, q]\\nelement k of the mask goes to column 1'
    """
    ax = canvas.axes(ax)
    places = _mask_places(pixel, size, mask, psa_type)
    ones = np.ones((1, *size, mask[0] * mask[1]), np.float32)
    others = arrays.psamask_forward(ones, psa_type, *mask).reshape(places.shape) - (places > 0)
    pixels = len(places)
    canvas.fill(ax, np.argwhere(others), canvas.OUTSIDE, 0.3, "others")
    canvas.fill(ax, np.argwhere(places), canvas.BLUE, 0.35, "elements")
    for row, column in zip(*np.nonzero(places)):
        ax.text(column, row, int(places[row, column]) - 1, ha="center", va="center", fontsize=7.5)
    name, line = (("collect", "row"), ("distribute", "column"))[psa_type]
    canvas.pixel_map(
        ax,
        (pixels, pixels),
        f"{name}: y[h, w, q]\nelement k of the mask goes to {line} {pixel[0] * size[1] + pixel[1]}",
    )
    ax.set(xlabel=f"channel q of y (pixel r*{size[1]}+s)", ylabel=f"pixel of y (h*{size[1]}+w)")
    canvas.legend(
        ax,
        [
            canvas.patch("element k of the pixel's mask", canvas.BLUE, 0.35),
            canvas.patch("elements of other pixels' masks", canvas.OUTSIDE, 0.3),
            canvas.patch("0", canvas.MAP, edgecolor=canvas.LINE),
        ],
        1,
    )
    return ax
