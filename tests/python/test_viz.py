# SPDX-License-Identifier: Apache-2.0
"""mluops.viz draws the pixels that the operators read. It uses backward operators; these tests use
forward ones to find the outputs that a pixel changes."""

import doctest
import os
import subprocess
import sys

import mluops
import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot
from mluops import viz


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def filled(ax, name, first=0.0):
    """Returns the pixels (y, x) inside the patch of that name."""
    found = [patch for patch in ax.patches if patch.get_label() == f"_{name}"]
    if not found:
        return set()
    corners = found[0].get_path().vertices.reshape(-1, 5, 2)[:, :4]
    return {(round(y - first), round(x - first)) for x, y in corners.mean(axis=1)}


def line(ax, name):
    """Returns the points (x, y) of the line of that name."""
    (found,) = [artist for artist in ax.lines if artist.get_label() == f"_{name}"]
    return np.stack(found.get_data(), axis=1)


def one_hot_images(size):
    """Returns one map per pixel, with 1 at the pixel: [H*W, H, W]."""
    return np.eye(size[0] * size[1], dtype=np.float32).reshape(-1, *size)


def bins_by_forward(roi, size, pooled, scale, semantics):
    """Returns for each bin the pixels that change its output."""
    images = one_hot_images(size)
    rois = np.array([[n, *roi] for n in range(len(images))], np.float32)
    channels = pooled[0] * pooled[1]
    if semantics == "rfcn":
        maps = np.repeat(images[..., None], channels, axis=3)
        output = mluops.psroipool_forward(maps, rois, *pooled, scale, pooled[0], 1)[0][..., 0]
    else:
        maps = np.repeat(images[:, None], channels, axis=1)
        output = mluops.torchvision_ps_roi_pool_forward(maps, rois, *pooled, scale)[:, 0]
    return {
        (i, j): {divmod(n, size[1]) for n in np.flatnonzero(output[:, i, j])}
        for i, j in np.ndindex(*pooled)
    }


@pytest.mark.parametrize("semantics", ["rfcn", "torchvision"])
@pytest.mark.parametrize(
    "roi, scale",
    [
        ((1, 1, 6, 5), 1.0),
        ((-3, 2, 20, 30), 1.0),
        ((37, 12, 90, 80), 1 / 16),
        ((50, 50, 60, 60), 1.0),
    ],
)
def test_bins_are_the_pixels_that_forward_reads(semantics, roi, scale):
    size, pooled = (7, 9), (3, 3)
    ax = viz.psroipool_bins(roi, size, 3, scale, semantics=semantics)
    for (i, j), expected in bins_by_forward(roi, size, pooled, scale, semantics).items():
        assert filled(ax, f"bin {i},{j}", 0.5) == expected


def test_bins_of_the_worked_example():
    ax = viz.psroipool_bins((0.5, 0, 2.5, 3), (4, 4), 2)
    assert filled(ax, "bin 0,0", 0.5) == {(0, 1), (0, 2), (1, 1), (1, 2)}
    assert filled(ax, "bin 1,1", 0.5) == {(2, 2), (2, 3), (3, 2), (3, 3)}
    assert [text.get_text() for text in ax.texts] == [
        "bin 0,0\nch 0",
        "bin 0,1\nch 1",
        "bin 1,0\nch 2",
        "bin 1,1\nch 3",
    ]


def test_torchvision_never_reads_the_last_row_and_column():
    for semantics, reached in (("rfcn", 7), ("torchvision", 6)):
        ax = viz.psroipool_bins((2, 2, 7, 7), (8, 8), 3, semantics=semantics)
        assert max(filled(ax, "bin 2,2", 0.5)) == (reached, reached)


def test_torchvision_bins_may_be_oblong():
    ax = viz.psroipool_bins((0, 0, 6, 4), (7, 7), (2, 3), semantics="torchvision")
    assert filled(ax, "bin 1,2", 0.5) == {(y, x) for y in (2, 3) for x in (4, 5)}


def test_unknown_semantics_raise():
    with pytest.raises(ValueError, match='must be "rfcn" or "torchvision", got \'other\''):
        viz.psroipool_bins((0, 0, 6, 4), (7, 7), 3, semantics="other")


@pytest.mark.parametrize(
    "box", [(1.3, 1.6, 6.1, 4.4), (3.2, 2.6, 9.4, 5.4), (-4, -0.5, 3, 2.25), (0, 0, 7, 6)]
)
def test_border_pixels_are_the_pixels_that_forward_reads(box):
    size, pool_size = (7, 8), 4
    images = one_hot_images(size)
    maps = np.repeat(images[..., None], 4, axis=3)
    boxes = np.broadcast_to(np.array(box, np.float32), (len(images), 1, 4))
    output = mluops.border_align_forward(maps, boxes, pool_size)[0][:, 0, :, 0]  # [H*W, 4]
    ax = viz.border_align_samples(box, size, pool_size)
    for b, name in enumerate(("top", "left", "bottom", "right")):
        drawn = {
            tuple(map(int, patch.get_label().split()[-1].split(",")))
            for patch in ax.patches
            if patch.get_label().startswith(f"_{name} pixel")
        }
        assert drawn == {divmod(n, size[1]) for n in np.flatnonzero(output[:, b])}


def test_samples_lie_on_the_border_and_are_crosses_outside_the_map():
    ax = viz.border_align_samples((3.2, 2.6, 9.4, 5.4), (7, 8), 4)
    top = np.stack([3.2 + 1.55 * np.arange(5), np.full(5, 2.6)], axis=1)
    np.testing.assert_allclose(line(ax, "top samples o"), top[:4], atol=1e-4)
    np.testing.assert_allclose(line(ax, "top samples X"), top[4:], atol=1e-4)
    assert len(line(ax, "right samples o")) == 0 and len(line(ax, "right samples X")) == 5


def test_pixel_is_divided_without_gaps():
    for borders in ([270], [270, 180], [270, 90], [0, 90, 180], [270, 180, 90, 0]):
        areas = []
        for part in viz.border_align._split_pixel(borders):
            x, y = part.T
            areas.append(abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2)
        assert sum(areas) == pytest.approx(1)
        assert min(areas) > 0.2


ROI, OUT = (0.4, -0.3, 0, 4.6, 2.8, 2, 0.45), (4, 3, 2)


def test_points_are_coloured_by_their_voxel():
    pts = viz.pictures._points_of_a_scene().astype(np.float32)
    ax = viz.roiaware_voxels(ROI, pts, OUT, 3)
    indices = mluops.roiaware_pool3d_forward(
        np.array([ROI], np.float32), pts, np.zeros((len(pts), 1), np.float32), 1, 3, *OUT
    )[2][0]
    drawn = 0
    for place in np.ndindex(*OUT):
        expected = pts[indices[place][1 : 1 + indices[place][0]], :2]
        name = "voxel {},{},{}".format(*place)
        np.testing.assert_array_equal(line(ax, f"{name} stored"), expected)
        drawn += len(expected) + len(line(ax, f"{name} left"))
    assert drawn + len(line(ax, "outside")) == len(pts)


def test_drawn_columns_equal_the_voxels_of_the_operator():
    ax = viz.roiaware_voxels(ROI, np.zeros((1, 3), np.float32), OUT)
    for ix, iy in np.ndindex(*OUT[:2]):
        (column,) = [patch for patch in ax.patches if patch.get_label() == f"_column {ix},{iy}"]
        corners = column.get_xy()[:4]
        inner = 0.98 * corners + 0.02 * corners.mean(axis=0)  # just inside the four corners
        pts = np.concatenate([inner, np.full((4, 1), 0.5)], axis=1).astype(np.float32)
        indices = mluops.roiaware_pool3d_forward(np.array([ROI], np.float32), pts, pts, 0, 8, *OUT)[
            2
        ][0]
        assert indices[ix, iy, 0, 0] == 4


@pytest.mark.parametrize("pixel, mask", [((0, 1), (3, 3)), ((2, 3), (4, 2)), ((1, 1), (9, 9))])
def test_mask_elements_are_drawn_where_backward_reads_them(pixel, mask):
    size = (3, 4)
    at = pixel[0] * size[1] + pixel[1]
    for psa_type in (0, 1):
        # The elements of dy are numbered, so the pixel's dx shows their sources.
        dy = np.arange(1, 145, dtype=np.float32).reshape(1, *size, 12)
        dx = mluops.psamask_backward(dy, psa_type, *mask)[0, pixel[0], pixel[1]]
        expected = {divmod(int(value) - 1, 12): k for k, value in enumerate(dx) if value}
        ax = viz.psamask_matrix(pixel, size, mask, psa_type)
        assert filled(ax, "elements") == set(expected)
        texts = {
            (round(y), round(x)): int(text.get_text())
            for text in ax.texts
            for x, y in [text.get_position()]
        }
        assert texts == expected
        assert {place[psa_type] for place in expected} == {at}
    window = viz.psamask_window(pixel, size, mask)
    assert filled(window, "elements") == {divmod(place[0], size[1]) for place in expected}
    assert sorted(int(text.get_text()) for text in window.texts) == list(range(mask[0] * mask[1]))


def test_windows_are_the_pixels_that_forward_copies():
    rows, columns, size, kernel, pad = [0, 2, 4, 9], [1, 4, 7, 9], (6, 8), (3, 2), (1, 0)
    feature = np.arange(1, 49, dtype=np.float32).reshape(1, 1, *size)
    col = mluops.masked_im2col_forward(
        feature, np.array(rows, np.int32), np.array(columns, np.int32), *kernel, *pad
    )
    ax = viz.masked_im2col_windows(rows, columns, size, kernel, pad)
    for m in range(4):
        expected = {divmod(int(value) - 1, 8) for value in col[:, m] if value}
        assert filled(ax, f"mask {m}") == expected
    matrix = viz.masked_im2col_columns(rows, columns, size, kernel, pad)
    assert len(matrix.texts) == col.size
    assert sum(text.get_text() == "0" for text in matrix.texts) == (col == 0).sum()


def test_axes_are_used_and_returned():
    ax = pyplot.figure().add_subplot()
    assert viz.psamask_window((0, 0), (3, 3), (3, 3), ax=ax) is ax
    assert ax.get_title() and ax.get_xlabel() and ax.get_ylabel() and ax.get_legend()


@pytest.mark.parametrize("name", sorted(viz.PICTURES))
def test_labels_do_not_overlap(name):
    size, draw = viz.PICTURES[name]
    figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
    draw(figure)
    figure.draw_without_rendering()
    for ax in figure.axes:
        legend = ax.get_legend()
        texts = [
            *ax.texts,
            ax.title,
            ax.xaxis.label,
            ax.yaxis.label,
            *(legend.get_texts() if legend else ()),
        ]
        boxes = [
            text.get_window_extent().shrunk(0.9, 0.8)
            for text in texts
            if text.get_text() and not text.get_rotation() % 90
        ]
        for i, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:i]), (name, i)


def test_doctests():
    results = [
        doctest.testmod(module)
        for module in (
            viz.border_align,
            viz.masked_im2col,
            viz.pictures,
            viz.psamask,
            viz.psroipool,
            viz.roiaware_pool3d,
        )
    ]
    assert all(result.failed == 0 and result.attempted > 0 for result in results)


def test_pictures_are_the_same_bytes_each_time(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "mluops.viz", str(tmp_path / "a")],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red"}):  # a user's settings
        here = viz.write_pictures(tmp_path / "b")
    assert [path.name for path in here] == [f"{name}.svg" for name in viz.PICTURES]
    assert len(run.stdout.splitlines()) == len(here)
    for path in here:
        content = path.read_bytes()
        assert content == (tmp_path / "a" / path.name).read_bytes()
        assert b"<dc:date>" not in content and len(content) < 100_000


def test_missing_matplotlib_raises_with_message():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from mluops import viz\n"
        "viz.psroipool_bins((0, 0, 1, 1), (4, 4), 2)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.rstrip().endswith(
        "ImportError: mluops.viz needs matplotlib: pip install matplotlib"
    )


def test_points_have_the_colour_of_their_first_box():
    points = np.array([[0, 0, 0.5], [1.5, 0, 0.5], [-1.5, 0, 0.5], [9, 9, 9]], np.float32)
    boxes = [(-0.5, 0, 0, 3, 1, 1, 0), (0.5, 0, 0, 3, 1, 1, 0)]
    ax = viz.points_in_boxes_scene(points, boxes)
    np.testing.assert_array_equal(line(ax, "box 0"), points[[2], :2])
    np.testing.assert_array_equal(line(ax, "box 0 and others"), points[[0], :2])
    np.testing.assert_array_equal(line(ax, "box 1"), points[[1], :2])
    np.testing.assert_array_equal(line(ax, "outside"), points[[3], :2])
