# SPDX-License-Identifier: Apache-2.0
"""Pictures of what the operators touch: bins, borders, voxels, masks and windows.

What a picture shows is asked of the operators: a gradient of one element goes through the backward
operator, and what comes out are the pixels that the element has read, with their weights. Every
function draws into a matplotlib Axes, `ax` or a new one, and returns it. `python -m mluops.viz
FOLDER` writes the pictures of docs/operators as SVG. matplotlib is needed: pip install mluops[viz].
"""

from __future__ import annotations

import io
import pathlib
import re
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Sequence, Tuple, Union

import numpy as np

from . import arrays

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["border_align_samples", "masked_im2col_columns", "masked_im2col_windows",
           "psamask_matrix", "psamask_window", "psroipool_bins", "roiaware_voxels",
           "write_pictures"]

# Okabe and Ito's colours: told apart with every kind of colour vision.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
VERMILION, SKY, YELLOW, BLACK = "#D55E00", "#56B4E9", "#F0E442", "#000000"
_CYCLE = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, YELLOW, BLACK)
_MAP, _LINE, _OUTSIDE = "#F4F4F4", "#D0D0D0", "#8C8C8C"


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
        import matplotlib.lines
        import matplotlib.patches
        import matplotlib.path
    except ImportError as error:
        raise ImportError("mluops.viz needs matplotlib: pip install mluops[viz]") from error
    return matplotlib


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    _matplotlib()
    from matplotlib import pyplot
    return pyplot.figure(layout="constrained").add_subplot()


def _pair(value: Union[int, Sequence[int]]) -> Tuple[int, int]:
    first, second = (value, value) if isinstance(value, int) else value
    return int(first), int(second)


_SQUARE = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


def _fill(ax: Any, places: Any, color: str, alpha: float, name: str,
          shape: np.ndarray = _SQUARE) -> None:
    """Fills the pixels whose centres are the rows (y, x) of `places`, in one patch, so that a
    picture stays small. `shape`: [corners, 2] = x, y of the part of a pixel that is filled."""
    path = _matplotlib().path.Path
    corners = np.concatenate([shape, shape[:1]])  # the last one closes the polygon
    centres = np.asarray(places, float).reshape(-1, 2)[:, ::-1]
    codes = [path.MOVETO, *[path.LINETO] * (len(shape) - 1), path.CLOSEPOLY] * len(centres)
    ax.add_patch(_matplotlib().patches.PathPatch(
        path((centres[:, None] + corners).reshape(-1, 2), codes), facecolor=color, alpha=alpha,
        linewidth=0, label=f"_{name}"))


def _frame(ax: Any, ys: Any, xs: Any, color: str, inset: float, width: float = 1.6) -> None:
    """A line around the pixels ys, xs."""
    low_x, low_y = np.min(xs) - 0.5 + inset, np.min(ys) - 0.5 + inset
    ax.add_patch(_matplotlib().patches.Rectangle(
        (low_x, low_y), np.max(xs) + 0.5 - inset - low_x, np.max(ys) + 0.5 - inset - low_y,
        fill=False, edgecolor=color, linewidth=width))


def _map(ax: Any, size: Tuple[int, int], title: str, first: float = 0.0) -> None:
    """An empty map of pixels, the centre of the first at (first, first), rows downwards."""
    (height, width), edge = size, first - 0.5
    ax.add_patch(_matplotlib().patches.Rectangle((edge, edge), width, height, facecolor=_MAP,
                                                 edgecolor=BLACK, linewidth=1, zorder=0.5))
    for kind, count, other in ((ax.vlines, width, height), (ax.hlines, height, width)):
        kind(np.arange(1, count) + edge, edge, other + edge, color=_LINE, linewidth=0.6, zorder=0.7)
    ax.set(title=title, xlabel="x (pixels)", ylabel="y (pixels)", aspect="equal",
           xlim=(edge, width + edge), ylim=(height + edge, edge))
    for axis, count in ((ax.xaxis, width), (ax.yaxis, height)):
        axis.set_ticks(range(0, count, max(1, count // 10)))
        axis.label.set_size(9)
    ax.tick_params(length=0, labelsize=8)
    ax.title.set_size(10)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _legend(ax: Any, handles: List[Any], columns: int = 2) -> None:
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncol=columns,
              frameon=False, fontsize=8, handlelength=1.6, columnspacing=1.2, borderaxespad=0.3)


def _patch(label: str, color: str, alpha: float = 1.0, **more: Any) -> Any:
    return _matplotlib().patches.Patch(facecolor=color, alpha=alpha, label=label, **more)


def _line(label: str, **more: Any) -> Any:
    return _matplotlib().lines.Line2D([], [], label=label, **more)


def _bin_gradient(roi: np.ndarray, size: Tuple[int, int], pooled: Tuple[int, int], scale: float,
                  semantics: str, i: int, j: int) -> np.ndarray:
    """How much each element of the map counts in bin (i, j): [H, W, C]."""
    channels = pooled[0] * pooled[1]
    if semantics == "rfcn":
        grad = np.zeros((1, *pooled, 1), np.float32)
        grad[0, i, j] = 1
        shape = (1, *size, channels)
        mapping = arrays.psroipool_forward(np.zeros(shape, np.float32), roi, *pooled, scale,
                                           pooled[0], 1)[1]
        return arrays.psroipool_backward(grad, roi, mapping, *pooled, scale, 1, shape)[0]
    if semantics != "torchvision":
        raise ValueError(f'psroipool_bins: semantics must be "rfcn" or "torchvision", '
                         f'got {semantics!r}')
    grad = np.zeros((1, 1, *pooled), np.float32)
    grad[0, 0, i, j] = 1
    return arrays.torchvision_ps_roi_pool_backward(grad, roi, *pooled, scale, (1, channels, *size)
                                                   )[0].transpose(1, 2, 0)


def psroipool_bins(roi: Sequence[float], size: Tuple[int, int],
                   pooled: Union[int, Tuple[int, int]], spatial_scale: float = 1.0, *,
                   semantics: str = "rfcn", ax: Axes | None = None) -> Axes:
    """The bins of a roi: which pixels each averages, and in which channel.

    roi: (x1, y1, x2, y2); size: (H, W) of the map; pooled: (height, width) or one number;
    semantics "rfcn" (`psroipool_forward`) or "torchvision" (`torchvision_ps_roi_pool_forward`).
    Channels are those of output_dim 1. Pixel i lies between i and i+1.

    >>> ax = psroipool_bins((2, 2, 7, 7), (8, 8), 3, semantics="torchvision")
    >>> ax.get_title()
    'torchvision: 3 x 3 bins of a roi\\n39 of the 64 pixels are read by no bin of it'
    """
    ax, pooled = _axes(ax), _pair(pooled)
    rois = np.array([[0, *roi]], np.float32)
    bins = {(i, j): _bin_gradient(rois, size, pooled, spatial_scale, semantics, i, j)
            for i, j in np.ndindex(*pooled)}
    reads = np.sum([gradient.any(axis=2) for gradient in bins.values()], axis=0)  # [H, W]
    for (i, j), gradient in bins.items():
        ys, xs, channels = np.nonzero(gradient)
        if not len(ys):
            continue
        color = (BLUE, ORANGE, GREEN, PURPLE)[i % 2 * 2 + j % 2]
        _fill(ax, np.stack([ys, xs], axis=1) + 0.5, color, 0.33, f"bin {i},{j}")
        _frame(ax, ys + 0.5, xs + 0.5, color, 0.06 + 0.07 * ((i + j) % 2))
        # The name goes to the first pixel of its own: no line of whole coordinates crosses it.
        own = np.nonzero(reads[ys, xs] == 1)[0]
        at = own[0] if len(own) else 0
        ax.text(xs[at] + 0.5, ys[at] + 0.5, f"bin {i},{j}\nch {channels[at]}", ha="center",
                va="center", fontsize=7.5)
    name = "R-FCN" if semantics == "rfcn" else semantics
    _map(ax, size, f"{name}: {pooled[0]} x {pooled[1]} bins of a roi\n"
                   f"{(reads == 0).sum()} of the {reads.size} pixels are read by no bin of it", 0.5)
    x1, y1, x2, y2 = (spatial_scale * value for value in roi)
    ax.add_patch(_matplotlib().patches.Rectangle((x1, y1), x2 - x1, y2 - y1, fill=False,
                                                 linestyle="--", edgecolor=BLACK, linewidth=1.6))
    ax.set(xlim=(min(0, x1) - 0.2, max(size[1], x2) + 0.2), xticks=range(size[1] + 1),
           ylim=(max(size[0], y2) + 0.2, min(0, y1) - 0.2), yticks=range(size[0] + 1),
           xlabel="x (pixels; pixel i lies between i and i+1)")
    handles = [_line("roi as given" + ("" if spatial_scale == 1 else f", times {spatial_scale:g}"),
                     color=BLACK, linestyle="--", linewidth=1.6),
               _patch("pixels of a bin, read in channel ch", BLUE, 0.33),
               _patch("read by no bin", _MAP, edgecolor=_LINE)]
    if (reads > 1).any():
        ys, xs = np.nonzero(reads > 1)
        ax.plot(xs + 0.5, ys + 0.5, "o", color=BLACK, markersize=3, label="_shared")
        handles.append(_line("pixel of several bins", color=BLACK, marker="o", linestyle="",
                             markersize=3))
    empty = sum(not gradient.any() for gradient in bins.values())
    if empty:
        handles.append(_patch(f"empty bins, their output is 0: {empty}", "none"))
    _legend(ax, handles)
    return ax


# Name, colour, and the direction in which the border looks, in degrees from right to down.
_BORDERS = (("top", BLUE, 270), ("left", ORANGE, 180), ("bottom", GREEN, 90), ("right", PURPLE, 0))


def _parts(directions: List[int]) -> List[np.ndarray]:
    """Divides a pixel among borders, to each the side where it lies: polygons [corners, 2]."""
    if len(directions) == 1:
        return [_SQUARE]
    ordered = sorted(directions)
    parts = []
    for direction in directions:
        at = ordered.index(direction)
        begin = (ordered[at - 1] - (360 if at == 0 else 0) + direction) / 2
        end = (ordered[(at + 1) % len(ordered)] + (360 if at + 1 == len(ordered) else 0)
               + direction) / 2
        corners = [angle for angle in range(-315, 720, 90) if begin < angle < end]
        angles = np.radians([begin, *corners, end])
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        edge = circle / (2 * np.abs(circle).max(axis=1, keepdims=True))
        parts.append(np.concatenate([edge, np.zeros((1, 2))]))
    return parts


def _sample_weights(box: np.ndarray, size: Tuple[int, int], pool_size: int) -> np.ndarray:
    """The weight of each pixel in each sample of each border: [4, pool_size+1, H, W]."""
    samples = pool_size + 1
    argmax = np.broadcast_to(np.arange(samples, dtype=np.int32), (1, 1, 4, samples))
    grad = arrays.border_align_backward(np.ones(argmax.shape, np.float32), box[None, None], argmax,
                                        pool_size, *size)
    return grad[0].reshape(*size, 4, samples).transpose(2, 3, 0, 1)


def border_align_samples(box: Sequence[float], size: Tuple[int, int], pool_size: int, *,
                         ax: Axes | None = None) -> Axes:
    """The samples on the four borders of a box, and the pixels that they interpolate.

    box: (x1, y1, x2, y2); size: (H, W) of the map. Each border has pool_size+1 samples and a block
    of channels of its own: a pixel that several borders read is divided among them.

    >>> ax = border_align_samples((1.3, 1.6, 6.1, 4.4), (6, 8), 4)
    >>> ax.get_title()
    'border_align: 5 samples on each border of a box\\nthe output is the largest of a border'
    """
    ax, box = _axes(ax), np.asarray(box, np.float32)
    weights = _sample_weights(box, size, pool_size)
    # Interpolation places the sample at the weighted mean of its pixels: on a map with enough room
    # around the box, that is where the operator has put it.
    room = int(np.ceil(max(0, -box.min(), box[2] - size[1], box[3] - size[0]))) + 3
    wide = _sample_weights(box + np.float32(room), (size[0] + 2 * room, size[1] + 2 * room),
                           pool_size)
    ys, xs = ((wide * grid).sum((2, 3)) - room for grid in np.indices(wide.shape[2:]))
    used = weights.max(axis=1)  # [4, H, W]
    for y, x in zip(*np.nonzero(used.any(axis=0))):
        borders = np.nonzero(used[:, y, x])[0]
        for b, part in zip(borders, _parts([_BORDERS[b][2] for b in borders])):
            _fill(ax, (y, x), _BORDERS[b][1], 0.15 + 0.55 * float(used[b, y, x]),
                  f"{_BORDERS[b][0]} pixel {y},{x}", part)
    _map(ax, size, f"border_align: {pool_size + 1} samples on each border of a box\n"
                   f"the output is the largest of a border")
    ax.set(xlim=(min(-0.5, xs.min() - 0.5) - 0.2, max(size[1] - 0.5, xs.max() + 0.5) + 0.2),
           ylim=(max(size[0] - 0.5, ys.max() + 0.5) + 0.2, min(-0.5, ys.min() - 0.5) - 0.2))
    ax.add_patch(_matplotlib().patches.Rectangle(box[:2], *(box[2:] - box[:2]), fill=False,
                                                 edgecolor=BLACK, linewidth=1.2))
    outside = ~weights.any(axis=(2, 3))
    for b, (name, color, direction) in enumerate(_BORDERS):
        for kind, chosen in (("o", ~outside[b]), ("X", outside[b])):
            ax.plot(xs[b][chosen], ys[b][chosen], kind, color=color, markersize=5.5, zorder=4,
                    markeredgecolor=BLACK, markeredgewidth=0.6, label=f"_{name} samples {kind}")
        for k in range(pool_size + 1):
            ax.annotate(str(k), (xs[b, k], ys[b, k]), ha="center", va="center", fontsize=7,
                        xytext=8 * np.array([np.cos(np.radians(direction)),
                                             -np.sin(np.radians(direction))]),
                        textcoords="offset points")
    handles = [_line(f"samples of the {name}", color=color, marker="o", linestyle="",
                     markeredgecolor=BLACK, markeredgewidth=0.6) for name, color, _ in _BORDERS]
    handles.append(_patch("pixel read; darker: larger weight", _OUTSIDE, 0.5))
    if outside.any():
        handles.append(_line("outside: counts as 0", color="white", marker="X", linestyle="",
                             markeredgecolor=BLACK))
    _legend(ax, handles)
    return ax


def _columns_of_points(roi: np.ndarray, pts: np.ndarray, out_size: Tuple[int, int, int],
                       max_pts: int) -> np.ndarray:
    """The voxel ix, iy, iz of each point, -1 where it is in none: [P, 3]."""
    indices = arrays.roiaware_pool3d_forward(roi[None], pts, np.zeros((len(pts), 1), np.float32), 0,
                                             max_pts, *out_size)[2][0]
    voxel = np.full((len(pts), 3), -1)
    for place in np.ndindex(*out_size):
        count = indices[place][0]
        voxel[indices[place][1:count + 1]] = place
    return voxel


def roiaware_voxels(roi: Sequence[float], pts: Any, out_size: Tuple[int, int, int],
                    max_pts_each_voxel: int = 128, *, ax: Axes | None = None) -> Axes:
    """The voxels of a rotated box from above, and which point falls into which of them.

    roi: (x, y, z of the bottom's centre, dx, dy, dz, yaw); pts: [P, 3]; out_size: (x, y, z).
    Neighbouring columns of voxels have different colours; layers have different markers.

    >>> pts = [[0.5, 0.5, 0.5], [-0.5, 0.5, 0.5], [3, 0, 0]]
    >>> ax = roiaware_voxels((0, 0, 0, 2, 2, 1, 0.3), pts, (2, 2, 1))
    >>> ax.get_title()
    'roiaware_pool3d from above: 2 x 2 x 1 voxels\\n2 of 3 points are inside'
    """
    ax = _axes(ax)
    roi, pts = np.asarray(roi, np.float32), np.asarray(pts, np.float32)
    inside = _columns_of_points(roi, pts, out_size, len(pts) + 1)
    stored = _columns_of_points(roi, pts, out_size, max_pts_each_voxel)
    _voxel_lines(ax, roi, out_size)
    _fill_voxels(ax, roi, out_size)
    markers = "os^Dv<>p"
    for place in np.ndindex(*out_size):
        ix, iy, iz = place
        color = _column_color(ix, iy)
        here, kept = (inside == place).all(axis=1), (stored == place).all(axis=1)
        for chosen, face in ((kept, color), (here & ~kept, "none")):
            ax.plot(*pts[chosen, :2].T, markers[iz % 8], markerfacecolor=face, markersize=5,
                    markeredgecolor=color if face == "none" else BLACK,
                    markeredgewidth=1.2 if face == "none" else 0.6,
                    label=f"_voxel {ix},{iy},{iz} {'stored' if face == color else 'left'}")
    out = inside[:, 0] < 0
    ax.plot(*pts[out, :2].T, "x", color=_OUTSIDE, markersize=4.5, label="_outside")
    ax.set(title="roiaware_pool3d from above: {} x {} x {} voxels\n".format(*out_size)
           + f"{(~out).sum()} of {len(pts)} points are inside", aspect="equal",
           xlabel="x (units of the points)", ylabel="y (units of the points)")
    ax.title.set_size(10)
    ax.tick_params(labelsize=8)
    plain = {"color": BLACK, "linestyle": "", "markersize": 5}
    handles = [_line("inside" if out_size[2] == 1 else f"inside, iz = {iz}", marker=markers[iz % 8],
                     markerfacecolor=BLUE, **plain) for iz in range(out_size[2])]
    handles.append(_line("outside", marker="x", **{**plain, "color": _OUTSIDE}))
    if (inside != stored).any():
        handles.append(_line(f"left out: {max_pts_each_voxel - 1} at most in a voxel", marker="o",
                             markerfacecolor="none", **plain))
    handles.append(_patch("a column ix, iy of voxels", BLUE, 0.3))
    handles.append(_line("yaw: the box's x direction", color=BLACK, marker=">", linestyle="-",
                         markersize=4))
    _legend(ax, handles)
    return ax


def _column_color(ix: int, iy: int) -> str:
    return (BLUE, ORANGE, GREEN, PURPLE)[ix % 2 + iy % 2 * 2]


def _places_of_box(roi: np.ndarray) -> Callable[[float, float], np.ndarray]:
    """A function from the box's own plane, [0, 1] x [0, 1], to x and y."""
    x, y, _, dx, dy, _, yaw = (float(value) for value in roi)
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    return lambda along, across: turn @ ((along - 0.5) * dx, (across - 0.5) * dy) + (x, y)


def _fill_voxels(ax: Any, roi: np.ndarray, out_size: Tuple[int, int, int]) -> None:
    at, (nx, ny, _) = _places_of_box(roi), out_size
    for ix, iy in np.ndindex(nx, ny):
        corners = [at((ix + i) / nx, (iy + j) / ny) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
        ax.add_patch(_matplotlib().patches.Polygon(corners, facecolor=_column_color(ix, iy),
                                                   alpha=0.16, linewidth=0,
                                                   label=f"_column {ix},{iy}"))


def _voxel_lines(ax: Any, roi: np.ndarray, out_size: Tuple[int, int, int]) -> None:
    at, yaw = _places_of_box(roi), float(roi[6])
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    for i in range(out_size[0] + 1):
        edge = i in (0, out_size[0])
        ax.plot(*zip(at(i / out_size[0], 0), at(i / out_size[0], 1)), label=f"_x line {i}",
                color=BLACK if edge else _OUTSIDE, linewidth=1.4 if edge else 0.8, zorder=1)
    for j in range(out_size[1] + 1):
        edge = j in (0, out_size[1])
        ax.plot(*zip(at(0, j / out_size[1]), at(1, j / out_size[1])), label=f"_y line {j}",
                color=BLACK if edge else _OUTSIDE, linewidth=1.4 if edge else 0.8, zorder=1)
    degrees = np.degrees(yaw)

    def readable(angle: float) -> float:
        return (angle + 90) % 180 - 90

    for count, name, place, down in ((out_size[0], "ix", lambda t: at(t, 0), (0, -1)),
                                     (out_size[1], "iy", lambda t: at(0, t), (-1, 0))):
        for i in range(count):
            ax.annotate(f"{name}={i}", place((i + 0.5) / count), xytext=12 * (turn @ down),
                        textcoords="offset points", ha="center", va="center", fontsize=7.5,
                        rotation=readable(degrees if name == "ix" else degrees + 90),
                        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4})
    ax.annotate("", at(1.12, 0.5), at(1, 0.5),
                arrowprops={"arrowstyle": "-|>", "color": BLACK, "linewidth": 1.2})


def _mask_places(pixel: Tuple[int, int], size: Tuple[int, int], mask: Tuple[int, int],
                 psa_type: int) -> np.ndarray:
    """y of a mask whose elements are 1, 2, ... at one pixel and 0 elsewhere: [H*W, H*W]."""
    x = np.zeros((1, *size, mask[0] * mask[1]), np.float32)
    x[0, pixel[0], pixel[1]] = np.arange(1, x.shape[3] + 1)
    pixels = size[0] * size[1]
    return arrays.psamask_forward(x, psa_type, *mask).reshape(pixels, pixels)


def psamask_window(pixel: Tuple[int, int], size: Tuple[int, int], mask: Tuple[int, int], *,
                   ax: Axes | None = None) -> Axes:
    """The mask of one pixel laid over the map: which element belongs to which neighbour.

    pixel: (h, w); size: (H, W) of the map; mask: (h_mask, w_mask).

    >>> ax = psamask_window((0, 1), (3, 4), (3, 3))
    >>> ax.get_title()
    'psamask: the 3 x 3 mask of pixel (0, 1)\\n6 of its 9 elements are on the map'
    """
    ax = _axes(ax)
    on_map = _mask_places(pixel, size, mask, 0)[pixel[0] * size[1] + pixel[1]].reshape(size)
    # The same pixel on a map that is larger all around: no element is lost.
    wide_size = (size[0] + 2 * mask[0], size[1] + 2 * mask[1])
    wide_pixel = (pixel[0] + mask[0], pixel[1] + mask[1])
    wide = _mask_places(wide_pixel, wide_size, mask, 0)[wide_pixel[0] * wide_size[1]
                                                        + wide_pixel[1]].reshape(wide_size)
    _fill(ax, np.argwhere(on_map), BLUE, 0.35, "elements")
    _map(ax, size, f"psamask: the {mask[0]} x {mask[1]} mask of pixel ({pixel[0]}, {pixel[1]})\n"
                   f"{np.count_nonzero(on_map)} of its {mask[0] * mask[1]} elements are on the map")
    ys, xs = np.nonzero(wide)
    for y, x in zip(ys - mask[0], xs - mask[1]):
        inside = 0 <= y < size[0] and 0 <= x < size[1]
        ax.text(x, y, int(wide[y + mask[0], x + mask[1]]) - 1, ha="center", va="center",
                fontsize=9, color=BLACK if inside else _OUTSIDE)
    _frame(ax, ys - mask[0], xs - mask[1], BLUE, 0)
    _frame(ax, pixel[0], pixel[1], VERMILION, 0.1)
    ax.set(xlim=(min(-0.5, xs.min() - mask[1] - 0.5) - 0.2,
                 max(size[1] - 0.5, xs.max() - mask[1] + 0.5) + 0.2),
           ylim=(max(size[0] - 0.5, ys.max() - mask[0] + 0.5) + 0.2,
                 min(-0.5, ys.min() - mask[0] - 0.5) - 0.2))
    _legend(ax, [_patch("the pixel", "none", edgecolor=VERMILION, linewidth=1.6),
                 _patch("element k of its mask, used", BLUE, 0.35),
                 _patch("outside (grey k): not used", "none", edgecolor=BLUE)], 1)
    return ax


def psamask_matrix(pixel: Tuple[int, int], size: Tuple[int, int], mask: Tuple[int, int],
                   psa_type: int, *, ax: Axes | None = None) -> Axes:
    """Where the elements of one pixel's mask land in y, seen as a matrix of pixels and channels.

    pixel: (h, w); size: (H, W) of the map; mask: (h_mask, w_mask); psa_type 0 (collect) or 1
    (distribute). Collect fills the pixel's row, distribute its column.

    >>> ax = psamask_matrix((0, 1), (3, 4), (3, 3), 1)
    >>> ax.get_title()
    'distribute: y[h, w, q]\\nelement k of the mask goes to column 1'
    """
    ax = _axes(ax)
    places = _mask_places(pixel, size, mask, psa_type)
    ones = np.ones((1, *size, mask[0] * mask[1]), np.float32)
    others = arrays.psamask_forward(ones, psa_type, *mask).reshape(places.shape) - (places > 0)
    pixels = len(places)
    _fill(ax, np.argwhere(others), _OUTSIDE, 0.3, "others")
    _fill(ax, np.argwhere(places), BLUE, 0.35, "elements")
    for row, column in zip(*np.nonzero(places)):
        ax.text(column, row, int(places[row, column]) - 1, ha="center", va="center", fontsize=7.5)
    name, line = (("collect", "row"), ("distribute", "column"))[psa_type]
    _map(ax, (pixels, pixels), f"{name}: y[h, w, q]\nelement k of the mask goes to {line} "
                               f"{pixel[0] * size[1] + pixel[1]}")
    ax.set(xlabel=f"channel q of y (pixel r*{size[1]}+s)",
           ylabel=f"pixel of y (h*{size[1]}+w)")
    _legend(ax, [_patch("element k of the pixel's mask", BLUE, 0.35),
                 _patch("elements of other pixels' masks", _OUTSIDE, 0.3),
                 _patch("0", _MAP, edgecolor=_LINE)], 1)
    return ax


def _window_reads(rows: np.ndarray, columns: np.ndarray, size: Tuple[int, int],
                  kernel: Tuple[int, int], pad: Tuple[int, int]) -> np.ndarray:
    """Which pixels the window of each mask reads: [M, H, W]."""
    count = len(rows)
    # A channel per mask: in channel m the gradient of column m alone is 1.
    grad = np.eye(count, dtype=np.float32).repeat(kernel[0] * kernel[1], axis=0)
    return arrays.masked_im2col_backward(grad, rows, columns, *kernel, *pad, *size)[0] > 0


def masked_im2col_windows(mask_h_idx: Sequence[int], mask_w_idx: Sequence[int],
                          size: Tuple[int, int], kernel: Union[int, Tuple[int, int]],
                          pad: Union[int, Tuple[int, int]], *, ax: Axes | None = None) -> Axes:
    """The windows around the masked pixels.

    mask_h_idx, mask_w_idx: [M]; size: (H, W) of the map; kernel and pad: (height, width) or one
    number. Outside the map a window holds zeros.

    >>> ax = masked_im2col_windows([0, 2], [1, 4], (5, 7), 3, 1)
    >>> ax.get_title()
    'masked_im2col: 3 x 3 windows of 2 masks\\n15 of the 35 pixels are read'
    """
    ax, kernel, pad = _axes(ax), _pair(kernel), _pair(pad)
    rows, columns = np.asarray(mask_h_idx, np.int32), np.asarray(mask_w_idx, np.int32)
    reads = _window_reads(rows, columns, size, kernel, pad)
    room = np.array([np.ceil(max(0, -at.min(), at.max() - size[i])) + kernel[i] + abs(pad[i])
                     for i, at in enumerate((rows, columns))], np.int32)
    wide = _window_reads(rows + room[0], columns + room[1], tuple(size + 2 * room), kernel, pad)
    ends = []
    for m, (inside, window) in enumerate(zip(reads, wide)):
        color = _CYCLE[m % len(_CYCLE)]
        _fill(ax, np.argwhere(inside), color, 0.3, f"mask {m}")
        ys, xs = np.nonzero(window)
        ys, xs = ys - room[0], xs - room[1]
        for y, x in zip(ys, xs):
            if not (0 <= y < size[0] and 0 <= x < size[1]):
                ax.text(x, y, "0", ha="center", va="center", fontsize=8, color=_OUTSIDE)
        _frame(ax, ys, xs, color, 0.03 + 0.05 * (m % 3), 1.8)
        ax.plot(columns[m], rows[m], "o", color=color, markersize=13, markeredgecolor=BLACK,
                markeredgewidth=0.8)
        ax.text(columns[m], rows[m], str(m), ha="center", va="center_baseline", fontsize=8,
                color="white" if color in (BLUE, GREEN, VERMILION, BLACK) else BLACK)
        ends.append((ys.min(), xs.min(), ys.max(), xs.max()))
    _map(ax, size, f"masked_im2col: {kernel[0]} x {kernel[1]} windows of {len(rows)} masks\n"
                   f"{reads.any(axis=0).sum()} of the {size[0] * size[1]} pixels are read")
    low, high = np.min(ends, axis=0)[:2], np.max(ends, axis=0)[2:]
    ax.set(xlim=(min(0, low[1]) - 0.7, max(size[1] - 1, high[1]) + 0.7),
           ylim=(max(size[0] - 1, high[0]) + 0.7, min(0, low[0]) - 0.7))
    _legend(ax, [_line("mask m", color="white", marker="o", markeredgecolor=BLACK, linestyle="",
                       markersize=9),
                 _patch("its window", BLUE, 0.3, edgecolor=BLUE),
                 _line("outside the map", color=_OUTSIDE, marker="$0$", linestyle="")], 3)
    return ax


def masked_im2col_columns(mask_h_idx: Sequence[int], mask_w_idx: Sequence[int],
                          size: Tuple[int, int], kernel: Union[int, Tuple[int, int]],
                          pad: Union[int, Tuple[int, int]], *, ax: Axes | None = None) -> Axes:
    """The matrix data_col of one channel: a column per mask, a row per element of the kernel.

    Arguments as in `masked_im2col_windows`. An entry names the pixel y,x that it is a copy of.

    >>> ax = masked_im2col_columns([0, 2], [1, 4], (5, 7), 3, 1)
    >>> ax.get_title()
    'data_col of one channel\\nentries: pixel y,x of the map'
    """
    ax, kernel, pad = _axes(ax), _pair(kernel), _pair(pad)
    rows, columns = np.asarray(mask_h_idx, np.int32), np.asarray(mask_w_idx, np.int32)
    feature = np.arange(1, size[0] * size[1] + 1, dtype=np.float32).reshape(1, 1, *size)
    col = arrays.masked_im2col_forward(feature, rows, columns, *kernel, *pad)
    _map(ax, col.shape, "data_col of one channel\nentries: pixel y,x of the map")
    for (row, m), value in np.ndenumerate(col.astype(int)):
        name = "0"
        if value:
            name = "{},{}".format(*divmod(value - 1, size[1]))
            _fill(ax, (row, m), _CYCLE[m % len(_CYCLE)], 0.3, f"row {row} mask {m} pixel {name}")
        ax.text(m, row, name, ha="center", va="center", fontsize=7.5,
                color=BLACK if value else _OUTSIDE)
    ax.set(xlabel="mask m", ylabel=f"row i*{kernel[1]}+j", xticks=range(col.shape[1]),
           yticks=range(col.shape[0]))
    return ax


def _points_of_a_scene() -> np.ndarray:
    """Points that do not cover each other, nor (hence the seed) the names of the voxels."""
    random = np.random.RandomState(2567)  # its numbers are the same in every version
    points: List[np.ndarray] = []
    for point in random.uniform((-3.2, -2.4, 0.1), (3.2, 2.4, 1.9), (130, 3)):
        if all(np.hypot(*(point - other)[:2]) > 0.3 for other in points):
            points.append(point)
    return np.array(points)


def _draw_psroipool(figure: Any) -> None:
    psroipool_bins((1, 1, 6, 5), (7, 9), 3, ax=figure.add_subplot(1, 1, 1))


def _draw_torchvision(figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    psroipool_bins((2, 2, 7, 7), (8, 8), 3, semantics="rfcn", ax=left)
    psroipool_bins((2, 2, 7, 7), (8, 8), 3, semantics="torchvision", ax=right)


def _draw_border_align(figure: Any) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(8.4, 10.7))
    border_align_samples((1.3, 1.6, 6.1, 4.4), (7, 8), 4, ax=left)
    border_align_samples((3.2, 2.6, 9.4, 5.4), (7, 8), 4, ax=right)
    right.set_title("a box beyond the edge: samples up to one pixel outside\n"
                    "read the edge, those further away count as 0", size=10)


def _draw_roiaware(figure: Any) -> None:
    roiaware_voxels((0, 0, 0, 4.6, 2.8, 2, 0.45), _points_of_a_scene(), (4, 3, 2), 3,
                    ax=figure.add_subplot(1, 1, 1))


def _draw_psamask(figure: Any) -> None:
    axes = figure.subplots(1, 3)
    psamask_window((0, 1), (3, 4), (3, 3), ax=axes[0])
    for psa_type in (0, 1):
        psamask_matrix((0, 1), (3, 4), (3, 3), psa_type, ax=axes[1 + psa_type])


def _draw_masked_im2col(figure: Any) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(2.4, 1))
    places = ((0, 2, 4), (1, 4, 6))
    masked_im2col_windows(*places, (6, 8), 3, 1, ax=left)
    masked_im2col_columns(*places, (6, 8), 3, 1, ax=right)


# The name of a picture, its size in inches, and what draws it.
PICTURES: Dict[str, Tuple[Tuple[float, float], Callable[[Figure], None]]] = {
    "psroipool": ((5.6, 5.4), _draw_psroipool),
    "torchvision_ps_roi_pool": ((9.4, 5.4), _draw_torchvision),
    "border_align": ((9.4, 5.2), _draw_border_align),
    "roiaware_pool3d": ((6.0, 5.4), _draw_roiaware),
    "psamask": ((10.4, 4.6), _draw_psamask),
    "masked_im2col": ((8.4, 5.0), _draw_masked_im2col),
}


def _save(figure: Any, path: pathlib.Path) -> None:
    if path.suffix != ".svg":
        figure.savefig(path, dpi=110, bbox_inches="tight")
        return
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight",
                   metadata={"Date": None, "Creator": None})
    # A tenth of the file is indentation, and comments that repeat the texts.
    path.write_text(re.sub(r"\n\s+", "\n", re.sub(r"<!--.*?-->", "", text.getvalue())))


def write_pictures(folder: Union[str, pathlib.Path], kind: str = "svg") -> List[pathlib.Path]:
    """Writes the pictures of docs/operators into a folder, as svg or png, and returns their paths.
    The same version of matplotlib writes the same bytes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_pictures(folder)][:2]
    ['psroipool.svg', 'torchvision_ps_roi_pool.svg']
    """
    matplotlib = _matplotlib()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, (size, draw) in PICTURES.items():
        with matplotlib.rc_context({**_plain_settings(), "svg.hashsalt": name, "font.size": 9}):
            figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
            draw(figure)
            paths.append(folder / f"{name}.{kind}")
            _save(figure, paths[-1])
    return paths


def _plain_settings() -> Dict[str, Any]:
    """matplotlib's own, whatever the user's are; the backend stays."""
    defaults = dict(_matplotlib().rcParamsDefault)
    return {key: value for key, value in defaults.items() if not key.startswith("backend")}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m mluops.viz FOLDER")
    for written in write_pictures(sys.argv[1]):
        print(written)
