# SPDX-License-Identifier: Apache-2.0
"""Draws the samples along the borders of a box."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Sequence, Tuple

import numpy as np

from .. import arrays
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Name, colour, and the outward direction of each border, in degrees clockwise from right.
_BORDERS = (
    ("top", canvas.BLUE, 270),
    ("left", canvas.ORANGE, 180),
    ("bottom", canvas.GREEN, 90),
    ("right", canvas.PURPLE, 0),
)


def _split_pixel(directions: List[int]) -> List[np.ndarray]:
    """Divides a pixel among borders; each gets its own side. Returns polygons [corners, 2]."""
    if len(directions) == 1:
        return [canvas.SQUARE]
    ordered = sorted(directions)
    parts = []
    for direction in directions:
        at = ordered.index(direction)
        begin = (ordered[at - 1] - (360 if at == 0 else 0) + direction) / 2
        end = (
            ordered[(at + 1) % len(ordered)] + (360 if at + 1 == len(ordered) else 0) + direction
        ) / 2
        corners = [angle for angle in range(-315, 720, 90) if begin < angle < end]
        angles = np.radians([begin, *corners, end])
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        edge = circle / (2 * np.abs(circle).max(axis=1, keepdims=True))
        parts.append(np.concatenate([edge, np.zeros((1, 2))]))
    return parts


def _sample_weights(box: np.ndarray, size: Tuple[int, int], pool_size: int) -> np.ndarray:
    """Returns the weight of each pixel in each sample of each border: [4, pool_size+1, H, W]."""
    samples = pool_size + 1
    argmax = np.broadcast_to(np.arange(samples, dtype=np.int32), (1, 1, 4, samples))
    grad = arrays.border_align_backward(
        np.ones(argmax.shape, np.float32), box[None, None], argmax, pool_size, *size
    )
    return grad[0].reshape(*size, 4, samples).transpose(2, 3, 0, 1)


def border_align_samples(
    box: Sequence[float], size: Tuple[int, int], pool_size: int, *, ax: Axes | None = None
) -> Axes:
    """Draws the samples on the four borders of a box, and the pixels that they interpolate.

    box: (x1, y1, x2, y2); size: (H, W) of the map. Each border has pool_size+1 samples and its own
    channels: a pixel that several borders read is divided among them.

    >>> ax = border_align_samples((1.3, 1.6, 6.1, 4.4), (6, 8), 4)
    >>> ax.get_title()
    'border_align: 5 samples on each border of a box\\nthe output is the largest of a border'
    """
    ax, box = canvas.axes(ax), np.asarray(box, np.float32)
    weights = _sample_weights(box, size, pool_size)
    # The position of a sample is the weighted mean of its pixels. The margin around the box keeps
    # all pixels of every sample on the map.
    margin = int(np.ceil(max(0, -box.min(), box[2] - size[1], box[3] - size[0]))) + 3
    wide = _sample_weights(
        box + np.float32(margin), (size[0] + 2 * margin, size[1] + 2 * margin), pool_size
    )
    ys, xs = ((wide * grid).sum((2, 3)) - margin for grid in np.indices(wide.shape[2:]))
    used = weights.max(axis=1)  # [4, H, W]
    for y, x in zip(*np.nonzero(used.any(axis=0))):
        borders = np.nonzero(used[:, y, x])[0]
        for b, part in zip(borders, _split_pixel([_BORDERS[b][2] for b in borders])):
            canvas.fill(
                ax,
                (y, x),
                _BORDERS[b][1],
                0.15 + 0.55 * float(used[b, y, x]),
                f"{_BORDERS[b][0]} pixel {y},{x}",
                part,
            )
    canvas.pixel_map(
        ax,
        size,
        f"border_align: {pool_size + 1} samples on each border of a box\n"
        f"the output is the largest of a border",
    )
    ax.set(
        xlim=(min(-0.5, xs.min() - 0.5) - 0.2, max(size[1] - 0.5, xs.max() + 0.5) + 0.2),
        ylim=(max(size[0] - 0.5, ys.max() + 0.5) + 0.2, min(-0.5, ys.min() - 0.5) - 0.2),
    )
    ax.add_patch(
        canvas.matplotlib().patches.Rectangle(
            box[:2], *(box[2:] - box[:2]), fill=False, edgecolor=canvas.BLACK, linewidth=1.2
        )
    )
    outside = ~weights.any(axis=(2, 3))
    for b, (name, color, direction) in enumerate(_BORDERS):
        for kind, chosen in (("o", ~outside[b]), ("X", outside[b])):
            ax.plot(
                xs[b][chosen],
                ys[b][chosen],
                kind,
                color=color,
                markersize=5.5,
                zorder=4,
                markeredgecolor=canvas.BLACK,
                markeredgewidth=0.6,
                label=f"_{name} samples {kind}",
            )
        for k in range(pool_size + 1):
            ax.annotate(
                str(k),
                (xs[b, k], ys[b, k]),
                ha="center",
                va="center",
                fontsize=7,
                xytext=8
                * np.array([np.cos(np.radians(direction)), -np.sin(np.radians(direction))]),
                textcoords="offset points",
            )
    handles = [
        canvas.line(
            f"samples of the {name}",
            color=color,
            marker="o",
            linestyle="",
            markeredgecolor=canvas.BLACK,
            markeredgewidth=0.6,
        )
        for name, color, _ in _BORDERS
    ]
    handles.append(canvas.patch("pixel read; darker: larger weight", canvas.OUTSIDE, 0.5))
    if outside.any():
        handles.append(
            canvas.line(
                "outside: counts as 0",
                color="white",
                marker="X",
                linestyle="",
                markeredgecolor=canvas.BLACK,
            )
        )
    canvas.legend(ax, handles)
    return ax
