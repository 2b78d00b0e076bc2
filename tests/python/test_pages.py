# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/operators: their NumPy code agrees with the library, their links exist,
and their calls run."""

import inspect
import pathlib
import re

import mluops
import numpy as np
import pytest

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operators"
NAMES = sorted(page.stem for page in PAGES.glob("*.md") if page.stem != "README")
NAN, INF = np.nan, np.inf


def text_between(name, first, last):
    text = (PAGES / f"{name}.md").read_text()
    return text[text.index(first) : text.index(last)]


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)


def functions(name):
    """Returns the definitions in a page's code between "The formula" and "Shapes"."""
    defined = {}
    for block in blocks(text_between(name, "## The formula", "## Shapes")):
        exec(block, defined)
    return defined


def floats(random, *shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def assert_same_bits(got, expected):
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert got.tobytes() == expected.tobytes()


def assert_close(got, expected, tolerance=2e-6):
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.fixture
def random():
    return np.random.RandomState(1)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):  # boxes of NaN and infinity
        yield


def edge_case_rois(random, count, images):
    """RoIs inside, across the edges, outside, on halves, inverted, and invalid."""
    rois = random.uniform(-40, 160, (count, 5)).astype(np.float32)
    rois[:, 0] = random.randint(0, images, count)
    rois[: count // 3, 1:] = np.round(rois[: count // 3, 1:]) + 0.5
    rois[count // 3 : count // 2, 3:] = rois[count // 3 : count // 2, 1:3] + 20
    bad = [
        [NAN, 0, 0, 50, 50],
        [INF, 0, 0, 50, 50],
        [-1, 0, 0, 50, 50],
        [images, 0, 0, 50, 50],
        [-0.5, 0, 0, 50, 50],
        [0, NAN, 0, 50, 50],
        [0, 0, -INF, 50, 50],
        [0, 0, 0, INF, 50],
        [0, 0, 0, 50, NAN],
        [0, 3e38, 0, -3e38, 50],
        [0, -1e30, -1e30, 1e30, 1e30],
        [0, 0, 0, 127, 111],
        [0, 112, 96, 127, 111],
        [0, -3e9, 0, 3e9, 50],
    ]
    return np.concatenate([rois, np.array(bad, np.float32)])


@pytest.mark.parametrize("name", NAMES)
def test_page_has_the_signatures_of_the_library(name):
    ours = {key: value for key, value in functions(name).items() if key in mluops.arrays.__all__}
    expected = {f"{name}_forward", f"{name}_backward"}
    if name == "masked_im2col":
        expected |= {"masked_col2im_forward", "masked_col2im_backward"}
    if name == "points_in_boxes":
        expected = {"points_in_boxes", "points_in_boxes_all"}
    assert set(ours) == expected
    for key, function in ours.items():
        library = [
            parameter.name
            for parameter in inspect.signature(getattr(mluops, key)).parameters.values()
            if parameter.kind is not parameter.KEYWORD_ONLY
        ]
        assert list(inspect.signature(function).parameters) == library, key


@pytest.mark.parametrize("scale", [1.0, 1 / 16, 0.3])
def test_psroipool(random, scale):
    page, (pooled, dim) = functions("psroipool"), (3, 2)
    rois = edge_case_rois(random, 40, 2)
    if scale == 1.0:
        rois[:40, 1:] /= 12
    input = floats(random, 2, 7, 8, dim * pooled * pooled)
    arguments = (rois, pooled, pooled, scale, pooled, dim)
    output, mapping = mluops.psroipool_forward(input, *arguments)
    expected, expected_mapping = page["psroipool_forward"](input, *arguments)
    assert_same_bits(mapping, expected_mapping)
    assert_close(output, expected)
    assert (output == 0).all(axis=(1, 2, 3)).any() and output.any()
    mapping[3] = random.randint(-3, input.shape[3] + 3, mapping[3].shape)  # some are skipped
    grad = floats(random, *output.shape)
    arguments = (grad, rois, mapping, pooled, pooled, scale, dim, input.shape)
    assert_close(
        mluops.psroipool_backward(*arguments), page["psroipool_backward"](*arguments), 1e-5
    )


@pytest.mark.parametrize("scale", [1.0, 1 / 16, 0.3])
@pytest.mark.parametrize("size", [(7, 8), (1, 5)])
def test_torchvision_ps_roi_pool(random, scale, size):
    page, (height, width, dim) = functions("torchvision_ps_roi_pool"), (2, 3, 2)
    rois = edge_case_rois(random, 40, 2)
    if scale == 1.0:
        rois[:40, 1:] /= 12
    input = floats(random, 2, dim * height * width, *size)
    output = mluops.torchvision_ps_roi_pool_forward(input, rois, height, width, scale)
    assert_same_bits(
        output, page["torchvision_ps_roi_pool_forward"](input, rois, height, width, scale)
    )
    grad = floats(random, *output.shape)
    arguments = (grad, rois, height, width, scale, input.shape)
    assert_close(
        mluops.torchvision_ps_roi_pool_backward(*arguments),
        page["torchvision_ps_roi_pool_backward"](*arguments),
        1e-5,
    )


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


@pytest.mark.parametrize("name", NAMES)
def test_calls_of_the_page_run(name):
    for block in blocks(text_between(name, "## Calls", "Kernels")):
        if "mluops.torch" in block:
            pytest.importorskip("torch")
        exec(block, {})


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_links_and_pictures_exist(page):
    links = re.findall(r"!?\[[^\]]*\]\(([^)#]+)[^)]*\)", page.read_text())
    assert links
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_every_page_is_in_the_index_and_has_a_picture_below_100_kb():
    index = (PAGES / "README.md").read_text()
    for name in NAMES:
        assert f"({name}.md)" in index
        assert f"(images/{name}.svg)" in (PAGES / f"{name}.md").read_text()
        assert (PAGES / "images" / f"{name}.svg").stat().st_size < 100_000
