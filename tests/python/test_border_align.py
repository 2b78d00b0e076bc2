# SPDX-License-Identifier: Apache-2.0
"""border_align: its page, its picture, and its special cases in PyTorch."""

import mluops
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mluops.torch as ours
from drawings import line, needs_matplotlib, one_hot_images
from mluops import viz
from pages import INF, NAN, assert_close, floats, functions


def edge_case_boxes(random, images, count, size):
    low, high = -3, max(size) + 3
    boxes = random.uniform(low, high, (images, count, 4)).astype(np.float32)
    boxes[:, 0] = (-1, -1, size[1], size[0])  # just inside
    boxes[:, 1] = (NAN, 0, 3, 3)
    boxes[:, 2] = (0, 0, INF, 3)
    boxes[:, 3] = (100, 100, 120, 130)
    boxes[:, 4] = (2, 2, 2, 2)
    boxes[:, 5] = np.round(boxes[:, 5])
    return boxes


@pytest.mark.parametrize("pool_size", [1, 3, 10])
@pytest.mark.parametrize("size", [(5, 6), (1, 1)])
def test_border_align(random, pool_size, size):
    page = functions("border_align")
    input, boxes = floats(random, 2, *size, 4 * 3), edge_case_boxes(random, 2, 9, size)
    output, argmax = mluops.border_align_forward(input, boxes, pool_size)
    expected, expected_argmax = page["border_align_forward"](input, boxes, pool_size)
    assert_close(output, expected)
    # Near-ties may differ: then the page's sample of that index is equally large.
    for n, k, b, c in np.argwhere(argmax != expected_argmax):
        y, x = list(page["samples"](boxes[n, k], b, pool_size))[argmax[n, k, b, c]]
        value = sum(
            w * float(input[n, i, j, b * 3 + c]) for i, j, w in page["neighbours"](y, x, *size)
        )
        assert abs(value - expected[n, k, b, c]) <= 5e-7
    argmax[0, 0, 0, 0], argmax[0, 0, 1, 0] = -1, pool_size + 1  # skipped
    arguments = (floats(random, *output.shape), boxes, argmax, pool_size, *size)
    assert_close(
        mluops.border_align_backward(*arguments), page["border_align_backward"](*arguments), 1e-5
    )


def test_border_align_keeps_nan_of_the_first_sample_only():
    page = functions("border_align")
    input = np.ones((1, 3, 3, 4), np.float32)
    input[0, 0, 0], input[0, 2, 1] = NAN, NAN
    boxes = np.array([[[0, 0, 2, 2], [1, 1, 2, 2]]], np.float32)
    output, argmax = mluops.border_align_forward(input, boxes, 2)
    expected, expected_argmax = page["border_align_forward"](input, boxes, 2)
    assert_close(output, expected)
    np.testing.assert_array_equal(argmax, expected_argmax)
    assert np.isnan(output).any() and np.isfinite(output).any()


@needs_matplotlib
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


@needs_matplotlib
def test_samples_lie_on_the_border_and_are_crosses_outside_the_map():
    ax = viz.border_align_samples((3.2, 2.6, 9.4, 5.4), (7, 8), 4)
    top = np.stack([3.2 + 1.55 * np.arange(5), np.full(5, 2.6)], axis=1)
    np.testing.assert_allclose(line(ax, "top samples o"), top[:4], atol=1e-4)
    np.testing.assert_allclose(line(ax, "top samples X"), top[4:], atol=1e-4)
    assert len(line(ax, "right samples o")) == 0 and len(line(ax, "right samples X")) == 5


@needs_matplotlib
def test_pixel_is_divided_without_gaps():
    for borders in ([270], [270, 180], [270, 90], [0, 90, 180], [270, 180, 90, 0]):
        areas = []
        for part in viz.border_align._split_pixel(borders):
            x, y = part.T
            areas.append(abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2)
        assert sum(areas) == pytest.approx(1)
        assert min(areas) > 0.2


def test_half_features_do_not_round_float_boxes():
    input = torch.arange(64.0).view(1, 1, 8, 8).repeat(1, 4, 1, 1).half()
    boxes = torch.tensor([[[0.3001, 0.3001, 5.7003, 5.7003]]])  # not representable in half
    exact = mluops.torch.border_align(input.float(), boxes, 4)
    assert torch.equal(mluops.torch.border_align(input, boxes, 4), exact.half())
    rounded = mluops.torch.border_align(input.float(), boxes.half().float(), 4)
    assert not torch.equal(rounded.half(), exact.half())


def test_second_derivative_of_border_align_equals_that_of_a_composition():
    """The borders of the box lie on pixels, so every sample is one pixel."""
    x = torch.randn(1, 4, 6, 6, dtype=torch.float64, requires_grad=True)
    boxes = torch.tensor([[[1.0, 1.0, 4.0, 4.0]]], dtype=torch.float64)

    def composed(x):
        at = torch.arange(1, 5)
        borders = (x[0, 0, 1, at], x[0, 1, at, 1], x[0, 2, 4, at], x[0, 3, at, 4])
        return torch.stack([border.max() for border in borders])

    results = []
    for function in (lambda x: ours.border_align(x, boxes, 3).flatten(), composed):
        (first,) = torch.autograd.grad((function(x) ** 3).sum(), x, create_graph=True)
        results.append(torch.autograd.grad((first**2).sum(), x)[0])
    assert torch.allclose(*results, rtol=1e-5)


@pytest.mark.skipif(not hasattr(torch.library, "opcheck"), reason="needs torch 2.4")
def test_meta_function_checks_symbolic_shapes():
    function = torch.compile(ours.border_align, fullgraph=True, backend="aot_eager", dynamic=True)
    boxes = torch.rand(2, 5, 4)
    assert function(torch.rand(2, 8, 6, 7), boxes, 3).shape == (2, 2, 5, 4)
    with pytest.raises(Exception, match=r"boxes.shape\[0\]|torch.Size|size"):
        function(torch.rand(3, 8, 6, 7), boxes, 3)


def test_no_boxes_give_an_empty_result():
    assert ours.border_align(torch.zeros(1, 4, 3, 3), torch.zeros(1, 0, 4), 2).shape == (1, 1, 0, 4)
