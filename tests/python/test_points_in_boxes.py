# SPDX-License-Identifier: Apache-2.0
"""points_in_boxes and points_in_boxes_all: their page, picture, and the PyTorch level."""

import doctest
import importlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mluops
import mluops.torch as ours
from drawings import line, needs_matplotlib
from drop_ins import cars
from mluops import viz
from pages import INF, NAN, assert_same_bits, functions


def scene(dtype=torch.float32):
    boxes, points = cars()
    return points.to(dtype).view(2, 30, 3), torch.stack([boxes, boxes.flip(0)]).to(dtype)


def by_composition(points, boxes):
    x, y, z = (points[:, :, None] - boxes[:, None, :, :3]).unbind(-1)
    dx, dy, dz, yaw = boxes[:, None, :, 3:].unbind(-1)
    along = x * yaw.cos() + y * yaw.sin()
    across = y * yaw.cos() - x * yaw.sin()
    inside = (along.abs() < dx / 2) & (across.abs() < dy / 2) & ((z - dz / 2).abs() <= dz / 2)
    return inside.int()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_results_equal_a_composition(dtype):
    points, boxes = scene(dtype)
    expected = by_composition(points, boxes)
    assert 0 < expected.sum() < expected.numel()
    inside = ours.points_in_boxes_all(points, boxes)
    assert torch.equal(inside, expected)
    first = ours.points_in_boxes(points, boxes)
    any_box = expected.any(2)
    assert torch.equal(first[any_box], expected.argmax(2)[any_box].int())
    assert (first[~any_box] == -1).all()
    assert np.array_equal(mluops.points_in_boxes(points.numpy(), boxes.numpy()), first.numpy())
    arrays = mluops.points_in_boxes_all(points.numpy(), boxes.numpy())
    assert np.array_equal(arrays, inside.numpy())


def test_no_boxes_contain_no_point():
    points, boxes = scene()
    assert (ours.points_in_boxes(points, boxes[:, :0]) == -1).all()
    assert ours.points_in_boxes_all(points, boxes[:, :0]).shape == (2, 30, 0)
    assert ours.points_in_boxes(points[:, :0], boxes).shape == (2, 0)


def test_points_that_require_a_gradient_are_accepted():
    points, boxes = scene()
    result = ours.points_in_boxes(points.requires_grad_(), boxes)
    assert not result.requires_grad


def test_wrong_shapes_raise():
    points, boxes = scene()
    with pytest.raises(mluops.BadParamError, match=r"points_in_boxes: boxes.shape\[0\] must be B"):
        ours.points_in_boxes(points, boxes[:1])
    with pytest.raises(mluops.BadParamError, match=r"points.shape\[2\] must be 3, got 2"):
        ours.points_in_boxes_all(points[..., :2], boxes)
    with pytest.raises(TypeError, match="points must be a"):
        ours.points_in_boxes(points.tolist(), boxes)


def test_meta_tensors_and_scripting():
    points, boxes = scene()
    assert ours.points_in_boxes(points.to("meta"), boxes.to("meta")).shape == (2, 30)
    scripted = torch.jit.script(ours.points_in_boxes_all)
    assert torch.equal(scripted(points, boxes), ours.points_in_boxes_all(points, boxes))


def test_docstring_examples_run():
    result = doctest.testmod(importlib.import_module("mluops.torch.points_in_boxes"))
    assert result.failed == 0 and result.attempted == 4


def test_points_in_boxes(random):
    page = functions("points_in_boxes")
    points = random.uniform(-2, 2, (2, 150, 3)).astype(np.float32)
    points[:, :4] = [[NAN, 0, 0], [0, INF, 0], [1, 0, 0.5], [0, 0, 0]]
    boxes = random.uniform(-1, 2, (2, 7, 7)).astype(np.float32)
    boxes[:, :4] = [
        [0, 0, 0, 2, 2, 1, 0],
        [0, 0, 0, 4, 4, 0, 0],
        [0, 0, NAN, 2, 2, 2, 0],
        [0, 0, 0, -2, 2, 2, 0],
    ]
    for name in ("points_in_boxes", "points_in_boxes_all"):
        expected = page[name](points, boxes)
        assert len(np.unique(expected)) > 1
        assert_same_bits(getattr(mluops, name)(points, boxes), expected)


@needs_matplotlib
def test_points_have_the_colour_of_their_first_box():
    points = np.array([[0, 0, 0.5], [1.5, 0, 0.5], [-1.5, 0, 0.5], [9, 9, 9]], np.float32)
    boxes = [(-0.5, 0, 0, 3, 1, 1, 0), (0.5, 0, 0, 3, 1, 1, 0)]
    ax = viz.points_in_boxes_scene(points, boxes)
    np.testing.assert_array_equal(line(ax, "box 0"), points[[2], :2])
    np.testing.assert_array_equal(line(ax, "box 0 and others"), points[[0], :2])
    np.testing.assert_array_equal(line(ax, "box 1"), points[[1], :2])
    np.testing.assert_array_equal(line(ax, "outside"), points[[3], :2])
