# SPDX-License-Identifier: Apache-2.0
"""Draws maps of pixels, and marks and legends on them."""

from __future__ import annotations

from typing import Any, Callable, Iterable, List, Sequence, Tuple, Union

import numpy as np

# The colours of Okabe and Ito, which are distinguishable with every kind of colour vision.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
VERMILION, SKY, YELLOW, BLACK = "#D55E00", "#56B4E9", "#F0E442", "#000000"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, YELLOW, BLACK)
MAP, LINE, OUTSIDE = "#F4F4F4", "#D0D0D0", "#8C8C8C"


def matplotlib() -> Any:
    """Imports matplotlib and the submodules that this package uses."""
    try:
        import matplotlib as module
        import matplotlib.figure
        import matplotlib.lines
        import matplotlib.patches
        import matplotlib.path
    except ImportError as error:
        raise ImportError("mluops.viz needs matplotlib: pip install matplotlib") from error
    return module


def axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    matplotlib()
    from matplotlib import pyplot

    return pyplot.figure(layout="constrained").add_subplot()


def pair(value: Union[int, Sequence[int]]) -> Tuple[int, int]:
    first, second = value if isinstance(value, Iterable) else (value, value)
    return int(first), int(second)


SQUARE = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


def fill(
    ax: Any, pixels: Any, color: str, alpha: float, name: str, shape: np.ndarray = SQUARE
) -> None:
    """Fills the pixels whose centres are the rows (y, x) of `pixels`, in one patch to keep the file
    small. `shape`: [corners, 2] = x, y of the part of a pixel that is filled."""
    path = matplotlib().path.Path
    corners = np.concatenate([shape, shape[:1]])  # the last one closes the polygon
    centres = np.asarray(pixels, float).reshape(-1, 2)[:, ::-1]
    codes = [path.MOVETO, *[path.LINETO] * (len(shape) - 1), path.CLOSEPOLY] * len(centres)
    ax.add_patch(
        matplotlib().patches.PathPatch(
            path((centres[:, None] + corners).reshape(-1, 2), codes),
            facecolor=color,
            alpha=alpha,
            linewidth=0,
            label=f"_{name}",
        )
    )


def frame(ax: Any, ys: Any, xs: Any, color: str, inset: float, width: float = 1.6) -> None:
    """Draws a line around the pixels ys, xs."""
    low_x, low_y = np.min(xs) - 0.5 + inset, np.min(ys) - 0.5 + inset
    ax.add_patch(
        matplotlib().patches.Rectangle(
            (low_x, low_y),
            np.max(xs) + 0.5 - inset - low_x,
            np.max(ys) + 0.5 - inset - low_y,
            fill=False,
            edgecolor=color,
            linewidth=width,
        )
    )


def pixel_map(ax: Any, size: Tuple[int, int], title: str, first: float = 0.0) -> None:
    """Draws an empty map of pixels, with rows downwards. The first centre is (first, first)."""
    (height, width), edge = size, first - 0.5
    ax.add_patch(
        matplotlib().patches.Rectangle(
            (edge, edge), width, height, facecolor=MAP, edgecolor=BLACK, linewidth=1, zorder=0.5
        )
    )
    for kind, count, other in ((ax.vlines, width, height), (ax.hlines, height, width)):
        kind(np.arange(1, count) + edge, edge, other + edge, color=LINE, linewidth=0.6, zorder=0.7)
    ax.set(
        title=title,
        xlabel="x (pixels)",
        ylabel="y (pixels)",
        aspect="equal",
        xlim=(edge, width + edge),
        ylim=(height + edge, edge),
    )
    for axis, count in ((ax.xaxis, width), (ax.yaxis, height)):
        axis.set_ticks(range(0, count, max(1, count // 10)))
        axis.label.set_size(9)
    ax.tick_params(length=0, labelsize=8)
    ax.title.set_size(10)
    for spine in ax.spines.values():
        spine.set_visible(False)


def box_to_world(box: np.ndarray) -> Callable[[float, float], np.ndarray]:
    """Returns a function from coordinates in a rotated box, [0, 1] x [0, 1], to x and y."""
    x, y, _, dx, dy, _, yaw = (float(value) for value in box)
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    return lambda along, across: turn @ ((along - 0.5) * dx, (across - 0.5) * dy) + (x, y)


def rgb(color: str) -> Tuple[float, ...]:
    """Converts "#RRGGBB" to three numbers in [0, 1]."""
    return tuple(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))


def legend(ax: Any, handles: List[Any], columns: int = 2) -> None:
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.13),
        ncol=columns,
        frameon=False,
        fontsize=8,
        handlelength=1.6,
        columnspacing=1.2,
        borderaxespad=0.3,
    )


def patch(label: str, color: str, alpha: float = 1.0, **more: Any) -> Any:
    return matplotlib().patches.Patch(facecolor=color, alpha=alpha, label=label, **more)


def line(label: str, **more: Any) -> Any:
    return matplotlib().lines.Line2D([], [], label=label, **more)
