# SPDX-License-Identifier: Apache-2.0
"""Draws the voxels of a box, seen from above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence, Tuple

import numpy as np

from .. import arrays
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _voxels_of_points(
    roi: np.ndarray, pts: np.ndarray, out_size: Tuple[int, int, int], max_pts: int
) -> np.ndarray:
    """Returns the voxel ix, iy, iz of each point, -1 for points outside: [P, 3]."""
    indices = arrays.roiaware_pool3d_forward(
        roi[None], pts, np.zeros((len(pts), 1), np.float32), 0, max_pts, *out_size
    )[2][0]
    voxel = np.full((len(pts), 3), -1)
    for place in np.ndindex(*out_size):
        count = indices[place][0]
        voxel[indices[place][1 : count + 1]] = place
    return voxel


def roiaware_voxels(
    roi: Sequence[float],
    pts: Any,
    out_size: Tuple[int, int, int],
    max_pts_each_voxel: int = 128,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draws the voxels of a rotated box from above, and the points of each voxel.

    roi: (x, y, z of the bottom's centre, dx, dy, dz, yaw); pts: [P, 3]; out_size: (x, y, z).
    Neighbouring columns of voxels have different colours; layers have different markers.

    >>> pts = [[0.5, 0.5, 0.5], [-0.5, 0.5, 0.5], [3, 0, 0]]
    >>> ax = roiaware_voxels((0, 0, 0, 2, 2, 1, 0.3), pts, (2, 2, 1))
    >>> ax.get_title()
    'roiaware_pool3d from above: 2 x 2 x 1 voxels\\n2 of 3 points are inside'
    """
    ax = canvas.axes(ax)
    roi, pts = np.asarray(roi, np.float32), np.asarray(pts, np.float32)
    inside = _voxels_of_points(roi, pts, out_size, len(pts) + 1)
    stored = _voxels_of_points(roi, pts, out_size, max_pts_each_voxel)
    _voxel_lines(ax, roi, out_size)
    _fill_voxels(ax, roi, out_size)
    markers = "os^Dv<>p"
    for place in np.ndindex(*out_size):
        ix, iy, iz = place
        color = _column_color(ix, iy)
        here, kept = (inside == place).all(axis=1), (stored == place).all(axis=1)
        for chosen, face in ((kept, color), (here & ~kept, "none")):
            ax.plot(
                *pts[chosen, :2].T,
                markers[iz % 8],
                markerfacecolor=face,
                markersize=5,
                markeredgecolor=color if face == "none" else canvas.BLACK,
                markeredgewidth=1.2 if face == "none" else 0.6,
                label=f"_voxel {ix},{iy},{iz} {'stored' if face == color else 'left'}",
            )
    out = inside[:, 0] < 0
    ax.plot(*pts[out, :2].T, "x", color=canvas.OUTSIDE, markersize=4.5, label="_outside")
    ax.set(
        title="roiaware_pool3d from above: {} x {} x {} voxels\n".format(*out_size)
        + f"{(~out).sum()} of {len(pts)} points are inside",
        aspect="equal",
        xlabel="x (units of the points)",
        ylabel="y (units of the points)",
    )
    ax.title.set_size(10)
    ax.tick_params(labelsize=8)
    plain = {"color": canvas.BLACK, "linestyle": "", "markersize": 5}
    handles = [
        canvas.line(
            "inside" if out_size[2] == 1 else f"inside, iz = {iz}",
            marker=markers[iz % 8],
            markerfacecolor=canvas.BLUE,
            **plain,
        )
        for iz in range(out_size[2])
    ]
    handles.append(canvas.line("outside", marker="x", **{**plain, "color": canvas.OUTSIDE}))
    if (inside != stored).any():
        handles.append(
            canvas.line(
                f"left out: {max_pts_each_voxel - 1} at most in a voxel",
                marker="o",
                markerfacecolor="none",
                **plain,
            )
        )
    handles.append(canvas.patch("a column ix, iy of voxels", canvas.BLUE, 0.3))
    handles.append(
        canvas.line(
            "yaw: the box's x direction",
            color=canvas.BLACK,
            marker=">",
            linestyle="-",
            markersize=4,
        )
    )
    canvas.legend(ax, handles)
    return ax


def _column_color(ix: int, iy: int) -> str:
    return (canvas.BLUE, canvas.ORANGE, canvas.GREEN, canvas.PURPLE)[ix % 2 + iy % 2 * 2]


def _fill_voxels(ax: Any, roi: np.ndarray, out_size: Tuple[int, int, int]) -> None:
    at, (nx, ny, _) = canvas.box_to_world(roi), out_size
    for ix, iy in np.ndindex(nx, ny):
        corners = [at((ix + i) / nx, (iy + j) / ny) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
        ax.add_patch(
            canvas.matplotlib().patches.Polygon(
                corners,
                facecolor=_column_color(ix, iy),
                alpha=0.16,
                linewidth=0,
                label=f"_column {ix},{iy}",
            )
        )


def _voxel_lines(ax: Any, roi: np.ndarray, out_size: Tuple[int, int, int]) -> None:
    at, yaw = canvas.box_to_world(roi), float(roi[6])
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    for i in range(out_size[0] + 1):
        edge = i in (0, out_size[0])
        ax.plot(
            *zip(at(i / out_size[0], 0), at(i / out_size[0], 1)),
            label=f"_x line {i}",
            color=canvas.BLACK if edge else canvas.OUTSIDE,
            linewidth=1.4 if edge else 0.8,
            zorder=1,
        )
    for j in range(out_size[1] + 1):
        edge = j in (0, out_size[1])
        ax.plot(
            *zip(at(0, j / out_size[1]), at(1, j / out_size[1])),
            label=f"_y line {j}",
            color=canvas.BLACK if edge else canvas.OUTSIDE,
            linewidth=1.4 if edge else 0.8,
            zorder=1,
        )
    degrees = np.degrees(yaw)

    def readable(angle: float) -> float:
        return (angle + 90) % 180 - 90

    for count, name, place, down in (
        (out_size[0], "ix", lambda t: at(t, 0), (0, -1)),
        (out_size[1], "iy", lambda t: at(0, t), (-1, 0)),
    ):
        for i in range(count):
            ax.annotate(
                f"{name}={i}",
                place((i + 0.5) / count),
                xytext=12 * (turn @ down),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=7.5,
                rotation=readable(degrees if name == "ix" else degrees + 90),
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
            )
    ax.annotate(
        "",
        at(1.12, 0.5),
        at(1, 0.5),
        arrowprops={"arrowstyle": "-|>", "color": canvas.BLACK, "linewidth": 1.2},
    )
