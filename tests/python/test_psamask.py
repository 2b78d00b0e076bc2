# SPDX-License-Identifier: Apache-2.0
"""psamask: its page, its picture, and psa_mask of PyTorch."""

import mluops
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mluops.torch as ours
from drawings import filled, needs_matplotlib
from drop_ins import randn
from mluops import viz
from pages import NAN, assert_same_bits, floats, functions

needs_compile = pytest.mark.skipif(
    not hasattr(torch.library, "opcheck"), reason="torch.compile of operators needs torch 2.4"
)


@pytest.mark.parametrize("psa_type", [0, 1])
@pytest.mark.parametrize("mask", [(1, 1), (3, 3), (4, 6), (9, 2)])
def test_psamask(random, psa_type, mask):
    page = functions("psamask")
    x = floats(random, 2, 4, 5, mask[0] * mask[1])
    x.flat[::7] = NAN
    y = mluops.psamask_forward(x, psa_type, *mask)
    assert_same_bits(y, page["psamask_forward"](x, psa_type, *mask))
    dy = floats(random, *y.shape)
    assert_same_bits(
        mluops.psamask_backward(dy, psa_type, *mask), page["psamask_backward"](dy, psa_type, *mask)
    )


@needs_matplotlib
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


def psa_mask_by_definition(x, psa_type, h_mask, w_mask):
    """Reference: a mask is centred on its pixel; each element belongs to the pixel it covers."""
    n, _, height, width = x.shape
    planes = {}
    for pixel in range(height * width):
        for element in range(h_mask * w_mask):
            row = pixel // width + element // w_mask - (h_mask - 1) // 2
            column = pixel % width + element % w_mask - (w_mask - 1) // 2
            if 0 <= row < height and 0 <= column < width:
                planes[row * width + column, pixel] = x[:, element].flatten(1)[:, pixel]
    size, zero = range(height * width), x.new_zeros(n)
    y = torch.stack(
        [
            torch.stack([planes.get((covered, pixel), zero) for pixel in size], dim=1)
            for covered in size
        ],
        dim=1,
    )
    return (y if psa_type == 0 else y.transpose(1, 2)).reshape(n, -1, height, width)


@pytest.mark.parametrize("psa_type", [0, 1])
@pytest.mark.parametrize("mask_size", [(3, 5), (4, 2), (7, 7), (1, 1)])
def test_psa_mask_equals_its_definition(psa_type, mask_size):
    x = randn(2, mask_size[0] * mask_size[1], 4, 3)
    y = ours.psa_mask(x, psa_type, mask_size)
    assert torch.equal(y, psa_mask_by_definition(x, psa_type, *mask_size))


@pytest.mark.parametrize("psa_type", [0, 1])
@pytest.mark.parametrize("shape", [(), (12, 1, 1), (2, 1, 4, 3)], ids=str)
def test_psa_mask_accepts_expanded_gradients(psa_type, shape):
    """The first shape is the shape of the gradient of sum()."""
    x = randn(2, 15, 4, 3).requires_grad_()
    expected = psa_mask_by_definition(x, psa_type, 3, 5)
    actual = ours.psa_mask(x, psa_type, (3, 5))
    grad = randn(*shape, seed=1).expand(expected.shape)
    assert 0 in grad.stride()
    grads = [torch.autograd.grad(y, x, grad)[0] for y in (actual, expected)]
    assert torch.equal(*grads)


def test_sum_of_psa_mask_has_a_gradient():
    x = torch.zeros(1, 9, 3, 3, requires_grad=True)
    ours.psa_mask(x, 0, (3, 3)).sum().backward()
    assert torch.equal(x.grad[0, 4], torch.ones(3, 3))
    assert x.grad[0, 0].tolist() == [[0, 0, 0], [0, 1, 1], [0, 1, 1]]


@needs_compile
@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: ours.psa_mask(x, 2, (3, 5)), "psa_type must be 0 or 1, got 2"),
        (lambda x: ours.psa_mask(x, 0, (-3, 5)), "h_mask must be >= 1, got -3"),
        (lambda x: ours.psa_mask(x, 0, (3, 4)), "h_mask.w_mask = 12, got 15"),
    ],
)
def test_meta_functions_check_attributes_of_symbolic_shapes(call, message):
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    fake = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.rand(2, 15, 4, 3))
    with pytest.raises(mluops.BadParamError, match=message):
        call(fake)
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager", dynamic=True)
    with pytest.raises(Exception, match=message):
        compiled(torch.rand(2, 15, 4, 3))


@needs_compile
def test_dynamic_compilation_accepts_other_shapes():
    function = torch.compile(ours.psa_mask, fullgraph=True, backend="aot_eager", dynamic=True)
    for height, width in ((4, 3), (6, 5), (1, 7)):
        x = torch.randn(2, 15, height, width)
        assert torch.equal(function(x, 1, (3, 5)), ours.psa_mask(x, 1, (3, 5)))


@needs_matplotlib
def test_axes_are_used_and_returned():
    from matplotlib import pyplot

    ax = pyplot.figure().add_subplot()
    assert viz.psamask_window((0, 0), (3, 3), (3, 3), ax=ax) is ax
    assert ax.get_title() and ax.get_xlabel() and ax.get_ylabel() and ax.get_legend()


def test_a_name_in_place_of_psa_type_raises_with_the_numbers():
    with pytest.raises(TypeError, match=r"0 \(collect\) or 1 \(distribute\), got 'collect'"):
        ours.psa_mask(torch.zeros(1, 9, 2, 2), "collect", 3)
