# SPDX-License-Identifier: Apache-2.0
"""The code on the pages of docs/operators, and comparisons with it."""

import pathlib
import re

import numpy as np

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
