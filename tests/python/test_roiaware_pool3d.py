# SPDX-License-Identifier: Apache-2.0
"""roiaware_pool3d: its page, its picture, and its special cases in PyTorch."""

import mluops
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mluops.torch as ours
from drawings import line, needs_matplotlib
from drop_ins import cars, randn
from mluops import viz
from pages import INF, NAN, assert_close, assert_same_bits, floats, functions


@pytest.mark.parametrize("pool_method", [0, 1])
@pytest.mark.parametrize("max_pts", [1, 4, 64])
def test_roiaware_pool3d(random, pool_method, max_pts):
    page = functions("roiaware_pool3d")
    pts = random.uniform(-2, 2, (150, 3)).astype(np.float32)
    pts[:6] = [[NAN, 0, 0], [0, INF, 0], [1, 0, 0.5], [-1, 0, 0.5], [0, 0, 1], [0, 0, 0]]
    features = floats(random, 150, 3)
    features[10:40, 1], features[40:60, 2] = NAN, -INF
    rois = np.array(
        [
            [0, 0, -1, 3, 2, 2, 0.7],
            [0, 0, 0, 2, 2, 1, 0],
            [0, 0, 0, 4, 4, 0, 0],
            [9, 9, 9, 1, 1, 1, 1],
            [0, 0, NAN, 2, 2, 2, 0],
            [0, 0, 0, 2, 2, 2, NAN],
            [0.3, -0.4, -2, 4, 3, 4, -2.5],
        ],
        np.float32,
    )
    arguments = (rois, pts, features, pool_method, max_pts, 3, 2, 2)
    pooled, argmax, indices = mluops.roiaware_pool3d_forward(*arguments)
    expected = page["roiaware_pool3d_forward"](*arguments)
    assert_same_bits(indices, expected[2])
    assert_same_bits(argmax, expected[1])
    (assert_same_bits if pool_method == 0 else assert_close)(pooled, expected[0])
    indices[0, 0, 0, 0, 0] = 1000  # clamped
    indices[0, 1, 0, 0, 1:] = 1000  # skipped
    argmax[1, 0, 0, 0] = 150
    arguments = (indices, argmax, floats(random, *pooled.shape), pool_method, 150)
    assert_close(
        mluops.roiaware_pool3d_backward(*arguments),
        page["roiaware_pool3d_backward"](*arguments),
        1e-5,
    )


ROI, OUT = (0.4, -0.3, 0, 4.6, 2.8, 2, 0.45), (4, 3, 2)


@needs_matplotlib
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


@needs_matplotlib
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


@pytest.mark.parametrize("mode", ["max", "avg"])
def test_center_origin_equals_shifted_bottom_origin(mode):
    boxes, points = cars()
    centred = boxes.clone()
    centred[:, 2] += boxes[:, 5] / 2
    features = randn(60, 4)
    bottom = ours.RoIAwarePool3d((2, 3, 2), 8, mode)(boxes, points, features)
    center = ours.RoIAwarePool3d((2, 3, 2), 8, mode, box_origin="center")(centred, points, features)
    assert bottom.abs().sum() > 0
    assert torch.equal(bottom, center)


def test_default_box_origin_is_the_bottom():
    box, point = torch.tensor([[0.0, 0, 0, 2, 2, 2, 0]]), torch.tensor([[0.0, 0, 1.5]])

    def pooled(**origin):
        return ours.RoIAwarePool3d(1, **origin)(box, point, torch.ones(1, 1)).item()

    assert (pooled(), pooled(box_origin="bottom"), pooled(box_origin="center")) == (1, 1, 0)


def test_unknown_box_origin_raises():
    with pytest.raises(ValueError, match="box_origin"):
        ours.RoIAwarePool3d(1, box_origin="top")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_the_bottom_of_half_boxes_is_not_rounded(dtype):
    """The bottom of the second box is 20.625 - 0.8125 / 2 = 20.21875, in bfloat16 20.25."""
    boxes = torch.tensor([[0.0, 0, 0, 1, 1, 1, 0], [10, 10, 20.625, 4, 2, 0.8125, 0.5]]).to(dtype)
    points = torch.rand(2000, 3, generator=torch.Generator().manual_seed(1)) * 3
    points += torch.tensor([8.5, 8.5, 18.5])
    features = torch.rand(2000, 1)
    calls = [(box, points, features, 1, 2001, "avg", "center") for box in (boxes, boxes.float())]
    half, single = (ours.roiaware_pool3d(*call) for call in calls)
    assert single[1].item() > 0
    assert torch.equal(half, single)


@pytest.mark.parametrize("mode", ["0", "1", "True", True, 1.0, None, torch.tensor([1, 2])], ids=str)
def test_wrong_modes_raise(mode):
    with pytest.raises(ValueError, match='roiaware_pool3d: mode must be "max", "avg", 0 or 1, got'):
        ours.roiaware_pool3d(*cars(), randn(60, 4), 1, mode=mode)


def test_modes_may_be_numbers():
    boxes, points = cars()
    inputs = (boxes, points, randn(60, 4), 2, 8)
    for number, name in enumerate(("max", "avg")):
        expected = ours.roiaware_pool3d(*inputs, name)
        for mode in (number, np.int64(number)):
            assert torch.equal(ours.roiaware_pool3d(*inputs, mode), expected)


@pytest.mark.parametrize("features", [torch.float32, torch.float64])
def test_points_at_utm_coordinates_are_kept(features):
    """In float32 the neighbours of 500000.3 are 1/32 apart, and this point is outside."""
    x = 500000.3
    rois = torch.tensor([[x, 4e6, 0, 0.02, 0.02, 2, 0]], dtype=torch.float64)
    pts = torch.tensor([[x + 0.009, 4e6 - 0.009, 1]], dtype=torch.float64)
    pooled = ours.roiaware_pool3d(rois, pts, torch.ones(1, 1, dtype=features), 1)
    assert pooled.item() == 1 and pooled.dtype == features


def test_no_points_give_zeros():
    pooled, argmax, _ = torch.ops.mluops.roiaware_pool3d(
        torch.zeros(1, 7), torch.zeros(0, 3), torch.zeros(0, 2), [1, 1, 1], 4, 0
    )
    assert (pooled == 0).all() and (argmax == -1).all()


def test_repr_shows_the_arguments():
    assert repr(ours.RoIAwarePool3d(2, 8, "avg")) == (
        "RoIAwarePool3d(out_size=2, max_pts_per_voxel=8, mode='avg', box_origin='bottom')"
    )
