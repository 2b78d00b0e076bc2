# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/operators."""

from __future__ import annotations

import io
import pathlib
import re
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Tuple, Union

import numpy as np

from . import _canvas as canvas
from .border_align import border_align_samples
from .masked_conv2d import masked_conv2d_output, masked_conv2d_windows
from .masked_im2col import masked_im2col_columns, masked_im2col_windows
from .points_in_boxes import points_in_boxes_scene
from .psamask import psamask_matrix, psamask_window
from .psroipool import psroipool_bins
from .roiaware_pool3d import roiaware_voxels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _points_of_a_scene() -> np.ndarray:
    """Returns points that hide neither each other nor the names of the voxels, due to the seed."""
    random = np.random.RandomState(2567)  # gives the same numbers in every version of NumPy
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
    right.set_title(
        "a box beyond the edge: samples up to one pixel outside\n"
        "read the edge, samples further away count as 0",
        size=10,
    )


def _draw_roiaware(figure: Any) -> None:
    roiaware_voxels(
        (0, 0, 0, 4.6, 2.8, 2, 0.45),
        _points_of_a_scene(),
        (4, 3, 2),
        3,
        ax=figure.add_subplot(1, 1, 1),
    )


def _draw_points_in_boxes(figure: Any) -> None:
    boxes = [
        (-0.9, 0.1, 0, 3.4, 2.2, 2, 0.45),
        (1.1, 0.6, 0, 3.0, 1.8, 2, -0.6),
        (1.6, -1.5, 0, 2.4, 1.2, 2, 0.1),
    ]
    points_in_boxes_scene(_points_of_a_scene(), boxes, ax=figure.add_subplot(1, 1, 1))


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


def _draw_masked_conv2d(figure: Any) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(1.7, 1))
    mask = [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]
    masked_conv2d_windows(mask, (8, 8), 3, 2, 1, ax=left)
    masked_conv2d_output(mask, (8, 8), 3, 2, 1, ax=right)


# The name of a picture, its size in inches, and the function that draws it.
PICTURES: Dict[str, Tuple[Tuple[float, float], Callable[[Figure], None]]] = {
    "psroipool": ((5.6, 5.4), _draw_psroipool),
    "torchvision_ps_roi_pool": ((9.4, 5.4), _draw_torchvision),
    "border_align": ((9.4, 5.2), _draw_border_align),
    "roiaware_pool3d": ((6.0, 5.4), _draw_roiaware),
    "points_in_boxes": ((6.0, 5.4), _draw_points_in_boxes),
    "psamask": ((10.4, 4.6), _draw_psamask),
    "masked_im2col": ((8.4, 5.0), _draw_masked_im2col),
    "masked_conv2d": ((7.6, 4.4), _draw_masked_conv2d),
}


def _save(figure: Any, path: pathlib.Path) -> None:
    if path.suffix != ".svg":
        figure.savefig(path, dpi=110, bbox_inches="tight")
        return
    text = io.StringIO()
    figure.savefig(
        text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None}
    )
    # Removes indentation, and comments that repeat the texts: a tenth of the file.
    path.write_text(re.sub(r"\n\s+", "\n", re.sub(r"<!--.*?-->", "", text.getvalue())))


def write_pictures(folder: Union[str, pathlib.Path], kind: str = "svg") -> List[pathlib.Path]:
    """Writes the pictures of docs/operators into a folder, as svg or png, and returns their paths.
    The same version of matplotlib writes the same bytes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_pictures(folder)][:2]
    ['psroipool.svg', 'torchvision_ps_roi_pool.svg']
    """
    matplotlib = canvas.matplotlib()
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
    """Returns matplotlib's default settings, except the backend. They override the user's."""
    defaults = dict(canvas.matplotlib().rcParamsDefault)
    return {key: value for key, value in defaults.items() if not key.startswith("backend")}
