# SPDX-License-Identifier: Apache-2.0
"""Draws rotated boxes and the points that they hold, seen from above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def points_in_boxes_scene(points: Any, boxes: Any, *, ax: Axes | None = None) -> Axes:
    """Draws boxes from above. A point has the colour of the first box that holds it.

    points: [M, 3]; boxes: [T, 7] = x and y of the centre, z of the bottom, dx, dy, dz, yaw.

    >>> ax = points_in_boxes_scene([[0.5, 0.5, 0.5], [3, 0, 0]], [[0, 0, 0, 2, 2, 1, 0.3]])
    >>> ax.get_title()
    'points_in_boxes from above: 1 of 2 points is in a box'
    """
    ax = canvas.axes(ax)
    points, boxes = np.asarray(points, np.float32), np.asarray(boxes, np.float32)
    first = arrays.points_in_boxes(points[None], boxes[None])[0]
    pairs = arrays.points_in_boxes_all(points[None], boxes[None])[0].sum(axis=1)
    for t, box in enumerate(boxes):
        _draw_box(ax, box, t)
        _draw_points(ax, points[(first == t) & (pairs == 1)], "o", t, f"_box {t}")
        _draw_points(ax, points[(first == t) & (pairs > 1)], "s", t, f"_box {t} and others")
    ax.plot(*points[first < 0, :2].T, "x", color=canvas.OUTSIDE, markersize=4.5, label="_outside")
    count = int((first >= 0).sum())
    ax.set(
        title=f"points_in_boxes from above: {count} of {len(points)} points "
        f"{'is' if count == 1 else 'are'} in a box",
        aspect="equal",
        xlabel="x (units of the points)",
        ylabel="y (units of the points)",
    )
    ax.title.set_size(10)
    ax.tick_params(labelsize=8)
    style = {"color": canvas.BLACK, "linestyle": "", "markersize": 5}
    handles = [canvas.patch(f"box {t}", _color(t), 0.4) for t in range(len(boxes))]
    handles += [
        canvas.line("in one box", marker="o", markerfacecolor="none", **style),
        canvas.line("in several: the first counts", marker="s", markerfacecolor="none", **style),
        canvas.line("in none: -1", marker="x", **{**style, "color": canvas.OUTSIDE}),
    ]
    canvas.legend(ax, handles)
    return ax


def _color(t: int) -> str:
    return canvas.CYCLE[t % len(canvas.CYCLE)]


def _draw_points(ax: Any, points: np.ndarray, marker: str, t: int, label: str) -> None:
    ax.plot(
        *points[:, :2].T,
        marker,
        markerfacecolor=_color(t),
        markeredgecolor=canvas.BLACK,
        markeredgewidth=0.6,
        markersize=5,
        label=label,
    )


def _draw_box(ax: Any, box: np.ndarray, t: int) -> None:
    at = canvas.box_to_world(box)
    corners = [at(*corner) for corner in ((0, 0), (1, 0), (1, 1), (0, 1))]
    ax.add_patch(
        canvas.matplotlib().patches.Polygon(
            corners, facecolor=(*canvas.rgb(_color(t)), 0.16), edgecolor=_color(t), linewidth=1.4
        )
    )
    ax.annotate(
        "",
        at(1.15, 0.5),
        at(1, 0.5),
        arrowprops={"arrowstyle": "-|>", "color": _color(t), "linewidth": 1.2},
    )
