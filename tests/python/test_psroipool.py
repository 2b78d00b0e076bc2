# SPDX-License-Identifier: Apache-2.0
"""psroipool: its page, its picture, and its special cases."""

import mluops
import numpy as np
import pytest
from drawings import filled, needs_matplotlib, one_hot_images
from mluops import viz
from pages import assert_close, assert_same_bits, edge_case_rois, floats, functions


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


def test_workspace_does_not_change_results():
    rng = np.random.default_rng(1)
    input, rois = rng.random((1, 20, 20, 36), np.float32), np.zeros((9, 5), np.float32)
    rois[:, 3:] = rng.random((9, 2)) * 19
    size = mluops.psroipool_forward_workspace_size(input, rois, 3, 3, 4)
    assert size > 0
    expected = mluops.psroipool_forward(input, rois, 3, 3, 1.0, 3, 4)
    for workspace in (np.empty(size, np.uint8), np.empty(1, np.uint8)):
        actual = mluops.psroipool_forward(input, rois, 3, 3, 1.0, 3, 4, workspace=workspace)
        assert all(np.array_equal(a, b) for a, b in zip(actual, expected))


def test_empty_map_pools_to_zeros():
    output, mapping = mluops.psroipool_forward(
        np.zeros((0, 2, 2, 4), np.float32), np.zeros((3, 5), np.float32), 2, 2, 1.0, 2, 1
    )
    assert not output.any() and not mapping.any()


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


@needs_matplotlib
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


@needs_matplotlib
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


@needs_matplotlib
def test_torchvision_never_reads_the_last_row_and_column():
    for semantics, reached in (("rfcn", 7), ("torchvision", 6)):
        ax = viz.psroipool_bins((2, 2, 7, 7), (8, 8), 3, semantics=semantics)
        assert max(filled(ax, "bin 2,2", 0.5)) == (reached, reached)


@needs_matplotlib
def test_torchvision_bins_may_be_oblong():
    ax = viz.psroipool_bins((0, 0, 6, 4), (7, 7), (2, 3), semantics="torchvision")
    assert filled(ax, "bin 1,2", 0.5) == {(y, x) for y in (2, 3) for x in (4, 5)}


@needs_matplotlib
def test_unknown_semantics_raise():
    with pytest.raises(ValueError, match='must be "rfcn" or "torchvision", got \'other\''):
        viz.psroipool_bins((0, 0, 6, 4), (7, 7), 3, semantics="other")
