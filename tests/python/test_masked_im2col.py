# SPDX-License-Identifier: Apache-2.0
"""masked_im2col and masked_col2im: their page, picture, and special cases in PyTorch."""

import mluops
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from drawings import filled, needs_matplotlib
from mluops import viz
from pages import assert_close, assert_same_bits, floats, functions


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    "kernel, pad", [((1, 1), (0, 0)), ((3, 3), (1, 1)), ((2, 3), (0, 2)), ((3, 2), (-2, 5))]
)
def test_masked_im2col(random, dtype, kernel, pad):
    page, (height, width) = functions("masked_im2col"), (5, 6)
    rows, columns = (random.randint(-3, 9, 30).astype(np.int32) for _ in range(2))
    rows[:2], columns[1:3] = (-(2**31), 2**31 - 1), (2**31 - 1, -(2**31))
    arguments = (floats(random, 1, 3, height, width).astype(dtype), rows, columns, *kernel, *pad)
    col = mluops.masked_im2col_forward(*arguments)
    assert_same_bits(col, page["masked_im2col_forward"](*arguments))
    arguments = (
        floats(random, *col.shape).astype(dtype),
        rows,
        columns,
        *kernel,
        *pad,
        height,
        width,
    )
    assert_close(
        mluops.masked_im2col_backward(*arguments),
        page["masked_im2col_backward"](*arguments),
        1e-5 if dtype == np.float32 else 1e-3,
    )
    arguments = (col, rows, columns, height, width)
    assert_same_bits(
        mluops.masked_col2im_forward(*arguments), page["masked_col2im_forward"](*arguments)
    )
    arguments = (floats(random, 1, 3, height, width).astype(dtype), rows, columns)
    assert_same_bits(
        mluops.masked_col2im_backward(*arguments), page["masked_col2im_backward"](*arguments)
    )


def test_masked_convolution_of_the_page_is_convolution_times_mask(random):
    torch = pytest.importorskip("torch")
    feature, weight = floats(random, 1, 3, 6, 7), floats(random, 4, 3, 3, 3)
    bias = floats(random, 4)
    mask = random.randint(0, 2, (6, 7)).astype(np.float32)
    got = functions("masked_im2col")["masked_convolution"](feature, mask, weight, bias, 1, 1)
    expected = (
        torch.nn.functional.conv2d(
            *(torch.from_numpy(value) for value in (feature, weight, bias)), padding=1
        ).numpy()
        * mask
    )
    assert_close(got, expected, 1e-5)


@needs_matplotlib
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


def test_indices_beyond_int32_count_as_outside():
    feature = torch.ones(1, 1, 2, 2)
    far, near = torch.tensor([1 << 32, -(1 << 40)]), torch.tensor([0, 0])
    columns = torch.ops.mluops.masked_im2col(feature, far, near, [1, 1], [0, 0])
    assert columns.tolist() == [[0, 0]]


def test_col2im_gradient_of_duplicate_masks_is_zero_except_for_the_last():
    col = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    at = torch.tensor([0, 1, 0])
    im = torch.ops.mluops.masked_col2im(col, at, at, 2, 2)
    assert im[0, 0].tolist() == [[3, 0], [0, 2]]
    im.sum().backward()
    assert col.grad.tolist() == [[0, 1, 1]]


def test_infinite_gradients_do_not_reach_overwritten_columns():
    col, at = torch.zeros(1, 3, requires_grad=True), torch.tensor([0, 1, 0])
    im = torch.ops.mluops.masked_col2im(col, at, at, 2, 2)
    im.backward(torch.full_like(im, float("inf")))
    assert col.grad.tolist() == [[0, float("inf"), float("inf")]]
